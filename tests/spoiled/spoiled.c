/* spoiled.c: the program, with a weight of this rank that changes before a step, as faulty memory (LOAM_FAULT=flip) or
 * an overflow (LOAM_FAULT=overflow) would change it. cmake/tests.cmake puts __wrap_train_step between the trainer and
 * its steps. */
#include "base/fault.h"
#include "train/trainer.h"

#include <math.h>

bool __real_train_step(Trainer *t, GError **error);
bool __wrap_train_step(Trainer *t, GError **error);

/* Sets the first number that this rank has of a parameter. */
static void spoil(ParamStore *params, int index, float value)
{
    const Box own = params_held(params, index), first = { { own.start[0], own.start[1] }, { 1, 1 } };
    params_write(params, index, &first, DT_F32, &value);
}

bool __wrap_train_step(Trainer *t, GError **error)
{
    ParamStore *params = model_params(t->model);
    if (fault_due("flip"))
        spoil(params, 0, 1);
    if (fault_due("overflow"))
        spoil(params, params_count(params) - 1, NAN);
    return __real_train_step(t, error);
}
