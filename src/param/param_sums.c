#include "param/param_sums.h"

#include "param/store.h"

/* This rank's part of a parameter's gradients; NO_TENSOR if it has none. */
static Tensor own_gradients(const ParamStore *store, const Param *param)
{
    const Tensor own = param->own[REGION_GRADIENTS];
    if (param->spec.frozen || !tensor_present(own))
        return NO_TENSOR;
    return store->shards.level == ZERO_NONE ? tensor_slice_rows(own, param->first, param->rows) : own;
}

void param_sums_add(ParamStore *store, int index, ParamSums *sums)
{
    const Box part = params_part(store, index);
    const int64_t n = part.shape[0] * part.shape[1];
    if (n == 0)
        return;
    const Tensor gradients = own_gradients(store, params_get(store, index));
    g_autofree float *values = g_new0(float, n);
    params_read(store, index, &part, DT_F32, values);
    for (int64_t i = 0; i < n; i++)
        sums->weights += (double)values[i] * values[i];
    if (!tensor_present(gradients))
        return;
    params_read_tensor(store, false, gradients, DT_F32, values);
    for (int64_t i = 0; i < n; i++) {
        sums->gradients += (double)values[i] * values[i];
        sums->zeros += values[i] == 0;
    }
}
