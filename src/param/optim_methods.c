/* optim_methods.c: for each kind of optimizer, the state tensors of a parameter and the operations of an update. */
#include "param/optim_state.h"

static double decay_of(const Optimizer *opt, const Param *param)
{
    return param->spec.decay || opt->config.decay == DECAY_ALL ? opt->config.weight_decay : 0;
}

/* The parts of SUMS_MOMENTS as tensors; see SumsKind. */
static Tensor squares(const State *state)
{
    return tensor_slice_rows(state->sums[SUMS_MOMENTS], 0, 1);
}

static Tensor row_sum(const State *state)
{
    return tensor_present(state->row) ? tensor_slice_rows(state->sums[SUMS_MOMENTS], 1, 1) : NO_TENSOR;
}

static Tensor col_sums(const State *state)
{
    return tensor_present(state->col) ? tensor_slice_rows(state->sums[SUMS_MOMENTS], 2, state->col.d[0]) : NO_TENSOR;
}

static void add_squares(const Optimizer *opt, const State *state, const Part *part)
{
    op_sumsq(opt->store->dev, squares(state), part->w, 1);
}

static int64_t no_sums(const State *state, SumsKind kind)
{
    (void)state;
    (void)kind;
    return 0;
}

static int64_t adamw_rms_sums(const State *state, SumsKind kind)
{
    (void)state;
    return kind == SUMS_MOMENTS ? 1 : 0;
}

static void adamw_state(const OptimConfig *config, DType dtype, State *state, Arena *arena)
{
    (void)config;
    state->m = arena_like(arena, dtype, state->w, "m");
    state->v = arena_like(arena, dtype, state->w, "v");
}

static void adamw_update(const Optimizer *opt, const State *state, const Part *part)
{
    const OptimConfig *config = &opt->config;
    AdamwSpec spec = { .beta1 = config->beta1,
                       .beta2 = config->beta2,
                       .eps = config->eps,
                       .weight_decay = decay_of(opt, state->param),
                       .scale_by_rms = config->name == OPTIM_ADAMW_RMS,
                       .count = state->param->spec.rows * MAX(state->param->spec.cols, 1) };
    op_adamw(opt->store->dev, part->w, part->rounded, part->m, part->v, part->g,
             spec.scale_by_rms ? squares(state) : NO_TENSOR, &spec, opt->scalars);
}

static bool is_factored(const OptimConfig *config, const ParamSpec *spec)
{
    return config->factored && spec->cols > 0 && MIN(spec->rows, spec->cols) >= config->min_dim_factored;
}

static void adafactor_state(const OptimConfig *config, DType dtype, State *state, Arena *arena)
{
    Tensor w = state->w;
    if (is_factored(config, &state->param->spec)) {
        state->row = arena_vector(arena, dtype, w.d[0], "row");
        state->col = arena_vector(arena, dtype, w.d[1], "col");
    } else {
        state->v = arena_like(arena, dtype, w, "v");
    }
    if (config->beta1 > 0)
        state->m = arena_like(arena, dtype, w, "m");
}

static int64_t adafactor_sums(const State *state, SumsKind kind)
{
    return kind == SUMS_SIZE ? 1 : 2 + tensor_count(state->col);
}

static AdafactorSpec adafactor_spec(const Optimizer *opt, const State *state)
{
    const OptimConfig *config = &opt->config;
    const Param *param = state->param;
    bool matrix = param->spec.cols > 0;
    return (AdafactorSpec){ .eps1 = config->eps1,
                            .eps2 = config->eps2,
                            .clip_threshold = config->clip_threshold,
                            .beta1 = config->beta1,
                            .weight_decay = decay_of(opt, param),
                            .rows = matrix ? param->spec.rows : 1,
                            .cols = matrix ? param_cols(param) : param->spec.rows,
                            .count = param->spec.rows * MAX(param->spec.cols, 1),
                            .scale_parameter = config->scale_parameter,
                            .decay_by_lr = config->decay_by_lr };
}

static void adafactor_moments(const Optimizer *opt, const State *state, const Part *part)
{
    const AdafactorSpec spec = adafactor_spec(opt, state);
    if (spec.scale_parameter)
        add_squares(opt, state, part);
    op_adafactor_moments(opt->store->dev, part->row, col_sums(state), row_sum(state), part->v, part->g, &spec,
                         opt->scalars);
}

static void adafactor_columns(const Optimizer *opt, const State *state, const Part *part)
{
    (void)part;
    const AdafactorSpec spec = adafactor_spec(opt, state);
    if (tensor_present(state->col))
        op_adafactor_columns(opt->store->dev, state->col, col_sums(state), &spec, opt->scalars);
}

/* The spec of the operations that divide by the mean of the row moments: their sum is over all tensor-parallel ranks
 * that divide the columns, each of which has every row. */
static AdafactorSpec adafactor_direction(const Optimizer *opt, const State *state)
{
    AdafactorSpec spec = adafactor_spec(opt, state);
    if (state->param->spec.split == SPLIT_COLS)
        spec.rows *= tensor_parallel_size(&opt->store->shards.tp);
    return spec;
}

static void adafactor_size(const Optimizer *opt, const State *state, const Part *part)
{
    const AdafactorSpec spec = adafactor_direction(opt, state);
    if (spec.clip_threshold > 0)
        op_adafactor_size(opt->store->dev, state->sums[SUMS_SIZE], part->row, state->col, row_sum(state), part->v,
                          part->g, &spec, opt->scalars);
}

static void adafactor_update(const Optimizer *opt, const State *state, const Part *part)
{
    const AdafactorSpec spec = adafactor_direction(opt, state);
    op_adafactor(opt->store->dev, part->w, part->rounded, part->m, part->row, state->col, row_sum(state), part->v,
                 part->g, squares(state), state->sums[SUMS_SIZE], &spec, opt->scalars);
}

const Method optim_methods[] = {
    [OPTIM_ADAMW] = { adamw_state, no_sums, false, { { .run = adamw_update } }, 0.9, 0.999, 1e-8 },
    [OPTIM_ADAFACTOR] = { adafactor_state,
                          adafactor_sums,
                          true,
                          { { .run = adafactor_moments, .sums = true, .kind = SUMS_MOMENTS },
                            { .run = adafactor_columns, .once = true },
                            { .run = adafactor_size, .sums = true, .kind = SUMS_SIZE },
                            { .run = adafactor_update } },
                          0,
                          0,
                          0 },
    [OPTIM_ADAMW_RMS] = { adamw_state,
                          adamw_rms_sums,
                          false,
                          { { .run = add_squares, .sums = true, .kind = SUMS_MOMENTS }, { .run = adamw_update } },
                          0.9,
                          0.999,
                          1e-6 },
};
