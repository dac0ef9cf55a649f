#include "run/checkpoint/format.h"

#include <string.h>

static void stored_clear(void *item)
{
    g_free(((StoredTensor *)item)->name);
    g_free(((StoredTensor *)item)->values);
}

GArray *stored_tensors(ParamStore *params, Optimizer *optimizer, Fp8Scales *fp8, int rank)
{
    GArray *tensors = g_array_new(false, false, sizeof(StoredTensor));
    g_array_set_clear_func(tensors, stored_clear);
    for (int i = 0; params && i < params_count(params); i++) {
        const ParamSpec *spec = params_spec(params, i);
        const StoredTensor stored = { .params = params,
                                      .index = i,
                                      .name = g_strdup(spec->name),
                                      .rows = spec->rows,
                                      .cols = spec->cols,
                                      .part = params_part(params, i),
                                      .held = params_held(params, i) };
        g_array_append_val(tensors, stored);
    }
    for (int i = 0; optimizer && i < optimizer_state_count(optimizer); i++) {
        OptimState state = optimizer_state(optimizer, i);
        const StoredTensor stored = { .optimizer = optimizer,
                                      .index = i,
                                      .name = g_strdup(state.name),
                                      .rows = state.rows,
                                      .cols = state.cols,
                                      .part = optimizer_part(optimizer, i),
                                      .held = optimizer_held(optimizer, i) };
        g_array_append_val(tensors, stored);
    }
    for (int i = 0; fp8 && i < fp8_state_count(fp8); i++) {
        int64_t shape[2];
        fp8_state_shape(fp8, i, shape);
        const Box all = { { 0, 0 }, { shape[0], MAX(shape[1], 1) } };
        StoredTensor stored = { .fp8 = fp8,
                                .index = i,
                                .name = g_strdup(fp8_state_name(i)),
                                .rows = shape[0],
                                .cols = shape[1],
                                .part = all,
                                .held = all };
        stored.part.shape[0] = rank == 0 ? shape[0] : 0;
        g_array_append_val(tensors, stored);
    }
    return tensors;
}

int64_t stored_count(const StoredTensor *stored)
{
    return stored->rows * MAX(stored->cols, 1);
}

void stored_read(const StoredTensor *stored, int64_t first, int64_t n, float *out)
{
    int64_t cols = stored->part.shape[1];
    const Box rows = { { stored->part.start[0] + first, stored->part.start[1] }, { n, cols } };
    if (stored->values)
        memcpy(out, stored->values + first * cols, (size_t)(n * cols) * sizeof *out);
    else if (stored->optimizer)
        optimizer_read(stored->optimizer, stored->index, &rows, DT_F32, out);
    else if (stored->fp8)
        fp8_read(stored->fp8, stored->index, first, n, out);
    else
        params_read(stored->params, stored->index, &rows, DT_F32, out);
}

void stored_write(const StoredTensor *stored, const Box *box, const float *from)
{
    if (stored->optimizer)
        optimizer_write(stored->optimizer, stored->index, box, DT_F32, from);
    else if (stored->fp8)
        fp8_write(stored->fp8, stored->index, box, from);
    else
        params_write(stored->params, stored->index, box, DT_F32, from);
}
