#include "train/checkpoint/stored.h"

StoredTensor stored_param(ParamStore *params, int index)
{
    const ParamSpec *spec = params_spec(params, index);
    return (
        StoredTensor){ .params = params, .index = index, .name = spec->name, .rows = spec->rows, .cols = spec->cols };
}

StoredTensor stored_optimizer_state(Optimizer *optimizer, int index)
{
    OptimState state = optimizer_state(optimizer, index);
    return (StoredTensor){
        .optimizer = optimizer, .index = index, .name = state.name, .rows = state.rows, .cols = state.cols
    };
}

void stored_read(const StoredTensor *stored, float *out)
{
    if (stored->optimizer)
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
