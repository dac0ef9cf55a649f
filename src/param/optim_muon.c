/* optim_muon.c: Muon (Jordan et al. 2024), as torch.optim.Muon has it, for the matrices of blocks: the momentum of a
 * matrix, with its singular values made nearly 1 by five steps of a Newton-Schulz iteration. Embeddings, heads and
 * vectors are updated by AdamW.
 *
 * The iteration needs the whole matrix. Data-parallel ranks each own whole matrices (UNIT_MATRIX). Tensor-parallel
 * ranks divide a matrix; each keeps its part and contracts over the divided dimension, so that the Gram matrix, which
 * is square in the other dimension, is a sum over these ranks and the rest is each rank's own. */
#include "param/optim_state.h"

enum { M, ITERATIONS = 5 };
/* One iteration: with the Gram matrix G = X Xᵀ, X becomes a X + (b G + c G²) X. */
static const float a = 3.4445f, b = -4.7750f, c = 2.0315f;
static const double least_norm = 1e-7;

/* What the update of one matrix (A,B) writes. */
typedef struct Work {
    Tensor u;          /* (A,B) as the masters: the momentum, then the step */
    Tensor nesterov;   /* (A,B) as the masters; shares its memory with the tensors below */
    Tensor x, next;    /* (A,B) in the compute dtype: the matrix before and after an iteration */
    Tensor gram, poly; /* (S,S) in the compute dtype, where S is the dimension that is not contracted */
    Tensor squares;    /* (1) f64: the sum of the squares of u */
} Work;

/* Whether tensor-parallel ranks divide the matrix. */
static bool is_divided(const Optimizer *opt, const State *state)
{
    return tensor_parallel_size(&opt->store->shards.tp) > 1 && param_is_split(state->param);
}

/* Whether G is Xᵀ X, contracted over rows, or X Xᵀ: over the longer dimension, unless ranks divide the other. */
static bool contracts_rows(const Optimizer *opt, const State *state)
{
    return is_divided(opt, state) ? split_by_rows(state->param->spec.split) : state->w.d[0] > state->w.d[1];
}

static Work lay_out_work(const Optimizer *opt, const State *state, Arena *arena)
{
    const Precision *precision = &opt->store->dev->precision;
    const int64_t rows = state->w.d[0], cols = state->w.d[1], side = contracts_rows(opt, state) ? cols : rows;
    Work work = { .squares = arena_vector(arena, DT_F64, 1, "squares"),
                  .u = arena_tensor(arena, precision->master, rows, cols, "u") };
    const size_t mark = arena_mark(arena);
    work.nesterov = arena_tensor(arena, precision->master, rows, cols, "nesterov");
    arena_reset(arena, mark);
    work.x = arena_tensor(arena, precision->compute, rows, cols, "x");
    work.next = arena_tensor(arena, precision->compute, rows, cols, "next");
    work.gram = arena_tensor(arena, precision->compute, side, side, "gram");
    work.poly = arena_tensor(arena, precision->compute, side, side, "poly");
    return work;
}

static void muon_scratch(const Optimizer *opt, const State *state, Arena *arena)
{
    if (state->w.d[0] > 0)
        lay_out_work(opt, state, arena);
}

/* x, of which each tensor-parallel rank has what its part of a matrix contributes, becomes the sum over these ranks. Of
 * ranks that have the same rows the first one's counts. */
static void sum_over_parts(const Optimizer *opt, const State *state, Tensor x)
{
    TensorParallel *tp = &opt->store->shards.tp;
    if (!is_divided(opt, state))
        return;
    if (state->param->spec.split == SPLIT_COPIED && !tensor_parallel_first_copy(tp))
        op_fill(opt->store->dev, x, 0);
    tensor_parallel_sum(tp, opt->store->dev, x);
}

/* m = μ m + (1 - μ) g; u = (1 - μ) g + μ m (Nesterov). */
static void add_gradient(const Optimizer *opt, Tensor m, Tensor g, const Work *work)
{
    Device *dev = opt->store->dev;
    const double momentum = opt->config.momentum;
    op_scale(dev, work->u, g, (float)((1 - momentum) * (double)opt->now.clip));
    op_scale(dev, m, m, (float)momentum);
    op_add(dev, m, m, work->u);
    op_scale(dev, work->nesterov, m, (float)momentum);
    op_add(dev, work->u, work->u, work->nesterov);
}

/* x = u / max(‖u‖, 1e-7). The host reads the norm: no operation divides a matrix by a number in memory of the device,
 * and the products that follow take far longer than the wait. */
static void normalise(const Optimizer *opt, const State *state, const Work *work)
{
    double squares = 0;
    op_sumsq(opt->store->dev, work->squares, work->u, 0);
    sum_over_parts(opt, state, work->squares);
    tensor_read(opt->store->dev, &squares, DT_F64, work->squares);
    op_scale(opt->store->dev, work->x, work->u, (float)(1 / fmax(sqrt(squares), least_norm)));
}

/* x = next after one iteration. */
static void iterate(const Optimizer *opt, const State *state, Work *work)
{
    Device *dev = opt->store->dev;
    const bool rows = contracts_rows(opt, state);
    const Tensor x = work->x;
    op_gemm(dev, work->gram, x, x, rows, !rows, 1, 0);
    sum_over_parts(opt, state, work->gram);
    op_copy(dev, work->poly, work->gram);
    op_gemm(dev, work->poly, work->gram, work->gram, false, false, c, b);
    op_copy(dev, work->next, x);
    op_gemm(dev, work->next, rows ? x : work->poly, rows ? work->poly : x, false, false, 1, a);
    work->x = work->next;
    work->next = x;
}

/* The factor on the learning rate by the shape of the whole matrix. The original one does not depend on the width, as
 * µP asks of the norm of steps that are orthogonal matrices. */
static double shape_factor(const OptimConfig *config, const ParamSpec *spec)
{
    const double rows = (double)spec->rows, cols = (double)spec->cols;
    return config->muon_scale == MUON_ORIGINAL ? sqrt(fmax(1, rows / cols)) : 0.2 * sqrt(fmax(rows, cols)) * spec->size;
}

static void muon_update(const Optimizer *opt, const State *state, const Part *part)
{
    Device *dev = opt->store->dev;
    const double lr = (double)opt->now.lr * opt->config.matrix_lr;
    Arena arena;
    arena_init(&arena, "muon", opt->scratch, opt->scratch_bytes);
    Work work = lay_out_work(opt, state, &arena);

    add_gradient(opt, part->kept[M], part->g, &work);
    normalise(opt, state, &work);
    for (int i = 0; i < ITERATIONS; i++)
        iterate(opt, state, &work);
    op_scale(dev, work.u, work.x, (float)(-lr * shape_factor(&opt->config, &state->param->spec)));
    op_scale(dev, part->w, part->w, (float)(1 - lr * optim_decay(opt, state->param)));
    op_add(dev, part->w, part->w, work.u);
    if (tensor_present(part->rounded))
        op_copy(dev, part->rounded, part->w);
}

static const Method muon_method = { .states = { [M] = { .name = "m" } },
                                    .scratch = muon_scratch,
                                    .unit = UNIT_MATRIX,
                                    .phases = { { .run = muon_update, .chain = true } } };
const OptimizerDef muon_optimizer = { { [PARAM_MATRIX] = &muon_method,
                                        [PARAM_EMBEDDING] = &adamw_method,
                                        [PARAM_HEAD] = &adamw_method,
                                        [PARAM_VECTOR] = &adamw_method },
                                      .beta1 = 0.9,
                                      .beta2 = 0.999,
                                      .eps = 1e-8 };
