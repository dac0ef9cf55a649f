#include "train/checkpoint/stored.h"

#include <string.h>

static void stored_clear(void *item)
{
    g_free(((StoredTensor *)item)->name);
    g_free(((StoredTensor *)item)->values);
}

GArray *stored_tensors(ParamStore *params, Optimizer *optimizer)
{
    GArray *tensors = g_array_new(false, false, sizeof(StoredTensor));
    g_array_set_clear_func(tensors, stored_clear);
    for (int i = 0; params && i < params_count(params); i++) {
        const ParamSpec *spec = params_spec(params, i);
        const StoredTensor stored = { params, NULL, i, g_strdup(spec->name), spec->rows, spec->cols, NULL, 0 };
        g_array_append_val(tensors, stored);
    }
    for (int i = 0; optimizer && i < optimizer_state_count(optimizer); i++) {
        OptimState state = optimizer_state(optimizer, i);
        const StoredTensor stored = { NULL, optimizer, i, g_strdup(state.name), state.rows, state.cols, NULL, 0 };
        g_array_append_val(tensors, stored);
    }
    return tensors;
}

int64_t stored_count(const StoredTensor *stored)
{
    return stored->rows * MAX(stored->cols, 1);
}

void stored_read(const StoredTensor *stored, float *out)
{
    if (stored->values)
        memcpy(out, stored->values, (size_t)stored_count(stored) * sizeof *out);
    else if (stored->optimizer)
        optimizer_read(stored->optimizer, stored->index, NULL, DT_F32, out);
    else
        params_read(stored->params, stored->index, NULL, DT_F32, out);
}

void stored_write(const StoredTensor *stored, const Box *box, const float *from)
{
    if (stored->optimizer)
        optimizer_write(stored->optimizer, stored->index, box, DT_F32, from);
    else
        params_write(stored->params, stored->index, box, DT_F32, from);
}
