/* optim_methods.c: the table of all optimizers, the memory of their states, and what several of them use. */
#include "param/optim_state.h"

#define OPTIM_ENTRY(name, file) [OPTIM_##name] = &file##_optimizer,
const OptimizerDef *const optimizers[] = { OPTIMIZERS(OPTIM_ENTRY) };

void optim_lay_out_state(const Optimizer *opt, State *state, Arena *arena)
{
    const DType dtype = opt->store->dev->precision.state;
    const Tensor w = state->w;
    for (int i = 0; i < MAX_STATES && state->method->states[i].name; i++) {
        const StateDef *def = &state->method->states[i];
        if (def->kept && !def->kept(&opt->config, &state->param->spec))
            continue;
        state->kept[i] = def->shape == STATE_WHOLE
                             ? arena_like(arena, dtype, w, def->name)
                             : arena_vector(arena, dtype, w.d[def->shape == STATE_COLS], def->name);
    }
}

double optim_decay(const Optimizer *opt, const Param *param)
{
    return param->spec.decay || opt->config.decay == DECAY_ALL ? opt->config.weight_decay : 0;
}

double optim_rate(const State *state, bool relative)
{
    const ParamSpec *spec = &state->param->spec;
    return relative ? spec->rate / spec->size : spec->rate;
}

Tensor optim_squares(const State *state)
{
    return tensor_slice_rows(state->sums[SUMS_MOMENTS], 0, 1);
}

void optim_add_squares(const Optimizer *opt, const State *state, const Part *part)
{
    op_sumsq(opt->store->dev, optim_squares(state), part->w, 1);
}
