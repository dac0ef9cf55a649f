/* optim_adafactor.c: Adafactor (Shazeer & Stern 2018). */
#include "param/optim_state.h"

/* Momentum; second moments, whole or as row and column moments. */
enum { M, V, ROW, COL };

static bool has_momentum(const OptimConfig *config, G_GNUC_UNUSED const ParamSpec *spec)
{
    return config->beta1 > 0;
}

static bool is_factored(const OptimConfig *config, const ParamSpec *spec)
{
    return config->factored && spec->cols > 0 && MIN(spec->rows, spec->cols) >= config->min_dim_factored;
}

static bool has_whole_moment(const OptimConfig *config, const ParamSpec *spec)
{
    return !is_factored(config, spec);
}

static int64_t adafactor_sums(const State *state, SumsKind kind)
{
    return kind == SUMS_SIZE ? 1 : 2 + tensor_count(state->kept[COL]);
}

/* The second part of SUMS_MOMENTS: the sum of the row moments. */
static Tensor row_sum(const State *state)
{
    return tensor_present(state->kept[ROW]) ? tensor_slice_rows(state->sums[SUMS_MOMENTS], 1, 1) : NO_TENSOR;
}

/* The third part of SUMS_MOMENTS: Σ g² of each column. */
static Tensor col_sums(const State *state)
{
    const Tensor col = state->kept[COL];
    return tensor_present(col) ? tensor_slice_rows(state->sums[SUMS_MOMENTS], 2, col.d[0]) : NO_TENSOR;
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
                            .weight_decay = optim_decay(opt, param),
                            .rows = matrix ? param->spec.rows : 1,
                            .cols = matrix ? param_cols(param) : param->spec.rows,
                            .count = param->spec.rows * MAX(param->spec.cols, 1),
                            .scale_parameter = config->scale_parameter,
                            .decay_by_lr = config->decay_by_lr,
                            .rate = optim_rate(state, config->scale_parameter) };
}

static void adafactor_moments(const Optimizer *opt, const State *state, const Part *part)
{
    const AdafactorSpec spec = adafactor_spec(opt, state);
    if (spec.scale_parameter)
        optim_add_squares(opt, state, part);
    op_adafactor_moments(opt->store->dev, part->kept[ROW], col_sums(state), row_sum(state), part->kept[V], part->g,
                         &spec, opt->scalars);
}

/* Adds up the sums of adafactor_moments over the tensor-parallel ranks. If these divide the columns, a row's moment is
 * the mean over all columns: the mean of the ranks' moments, since each rank has equally many columns. Σ w² and the sum
 * of the row moments are added up (see adafactor_direction); the sums of columns stay each rank's own. */
static void join_moments(const Optimizer *opt, const State *state)
{
    Device *dev = opt->store->dev;
    TensorParallel *tp = &opt->store->shards.tp;
    Tensor sums = state->sums[SUMS_MOMENTS], row = state->kept[ROW];

    if (state->param->spec.split != SPLIT_COLS || !tensor_present(row)) {
        tensor_parallel_sum(tp, dev, sums);
        return;
    }
    Tensor rows = tensor_matrix(row.p, row.dtype, row.d[0], 1);
    tensor_parallel_sum(tp, dev, tensor_slice_rows(sums, 0, 2));
    tensor_parallel_sum(tp, dev, row);
    op_scale(dev, rows, rows, 1 / (float)tp->size);
}

static void adafactor_columns(const Optimizer *opt, const State *state, const Part *part)
{
    const AdafactorSpec spec = adafactor_spec(opt, state);
    if (tensor_present(part->kept[COL]))
        op_adafactor_columns(opt->store->dev, part->kept[COL], col_sums(state), &spec, opt->scalars);
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
        op_adafactor_size(opt->store->dev, state->sums[SUMS_SIZE], part->kept[ROW], part->kept[COL], row_sum(state),
                          part->kept[V], part->g, &spec, opt->scalars);
}

static void adafactor_update(const Optimizer *opt, const State *state, const Part *part)
{
    const AdafactorSpec spec = adafactor_direction(opt, state);
    op_adafactor(opt->store->dev, part->w, part->rounded, part->kept[M], part->kept[ROW], part->kept[COL],
                 row_sum(state), part->kept[V], part->g, optim_squares(state), state->sums[SUMS_SIZE], &spec,
                 opt->scalars);
}

static const Method adafactor_method = {
    .states = { [M] = { "m", STATE_WHOLE, has_momentum },
                [V] = { "v", STATE_WHOLE, has_whole_moment },
                [ROW] = { "row", STATE_ROWS, is_factored },
                [COL] = { "col", STATE_COLS, is_factored } },
    .sums = adafactor_sums,
    .unit = UNIT_ROW,
    .phases = { { .run = adafactor_moments, .sums = true, .kind = SUMS_MOMENTS, .join = join_moments },
                { .run = adafactor_columns, .once = true },
                { .run = adafactor_size, .sums = true, .kind = SUMS_SIZE },
                { .run = adafactor_update } },
};
const OptimizerDef adafactor_optimizer = { EVERY_KIND(&adafactor_method), .beta1 = 0, .beta2 = 0, .eps = 0 };
