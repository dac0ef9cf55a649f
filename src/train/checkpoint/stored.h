/* stored.h: the tensors that a checkpoint holds: parameters, and the states of an optimizer. Values are f32; a write
 * may cover a Box, a rectangular part. */
#pragma once

#include "param/optim.h"

typedef struct StoredTensor {
    ParamStore *params;
    Optimizer *optimizer; /* NULL means a parameter */
    int index;            /* of the parameter, or of the optimizer's state */
    const char *name;     /* belongs to params or optimizer */
    int64_t rows, cols;   /* cols 0 means a vector */
} StoredTensor;

StoredTensor stored_param(ParamStore *params, int index);
StoredTensor stored_optimizer_state(Optimizer *optimizer, int index);
/* Reads the whole tensor (rows × cols). */
void stored_read(const StoredTensor *stored, float *out);
void stored_write(const StoredTensor *stored, const Box *box, const float *from);
