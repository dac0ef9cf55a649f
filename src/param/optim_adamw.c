/* optim_adamw.c: AdamW, and AdamW whose steps are scaled by the root mean square of each weight tensor. */
#include "param/optim_state.h"

enum { M, V };

static void adamw_update(const Optimizer *opt, const State *state, const Part *part)
{
    const OptimConfig *config = &opt->config;
    AdamwSpec spec = { .beta1 = config->beta1,
                       .beta2 = config->beta2,
                       .eps = config->eps,
                       .weight_decay = optim_decay(opt, state->param),
                       .rate = optim_rate(state, config->name == OPTIM_ADAMW_RMS),
                       .scale_by_rms = config->name == OPTIM_ADAMW_RMS,
                       .count = state->param->spec.rows * MAX(state->param->spec.cols, 1) };
    op_adamw(opt->store->dev, part->w, part->rounded, part->kept[M], part->kept[V], part->g,
             spec.scale_by_rms ? optim_squares(state) : NO_TENSOR, &spec, opt->scalars);
}

static int64_t adamw_rms_sums(G_GNUC_UNUSED const State *state, SumsKind kind)
{
    return kind == SUMS_MOMENTS ? 1 : 0;
}

const Method adamw_method = { .states = { [M] = { .name = "m" }, [V] = { .name = "v" } },
                              .unit = UNIT_ELEMENT,
                              .phases = { { .run = adamw_update } } };
const OptimizerDef adamw_optimizer = { EVERY_KIND(&adamw_method), .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 };

static const Method rms_method = { .states = { [M] = { .name = "m" }, [V] = { .name = "v" } },
                                   .sums = adamw_rms_sums,
                                   .unit = UNIT_ELEMENT,
                                   .phases = { { .run = optim_add_squares, .sums = true, .kind = SUMS_MOMENTS },
                                               { .run = adamw_update } } };
const OptimizerDef adamw_rms_optimizer = { EVERY_KIND(&rms_method), .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-6 };
