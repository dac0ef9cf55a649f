/* optim_update.c: the update of a bucket, range by range, one operation after another. */
#include "param/optim_state.h"

/* Elements first … first + n - 1 of t, as rows of a matrix or as a vector. NO_TENSOR if t is NO_TENSOR. */
static Tensor cut(Tensor t, bool rows, int64_t first, int64_t n)
{
    if (!tensor_present(t))
        return t;
    if (rows && t.rank == 2)
        return tensor_slice_rows(t, first / t.d[1], n / t.d[1]);
    return tensor_slice_rows(tensor_vector(t.p, (DType)t.dtype, tensor_count(t)), first, n);
}

static Part part_of(const Optimizer *opt, const State *state, int64_t first, int64_t n)
{
    bool rows = opt->method->by_rows;
    int64_t cols = tensor_cols(state->w);
    const Tensor *own = state->param->own;
    return (Part){ .w = cut(state->w, rows, first, n),
                   .rounded = param_has_master(state->param) ? cut(own[REGION_WEIGHTS], rows, first, n) : NO_TENSOR,
                   .g = cut(own[REGION_GRADIENTS], rows, first, n),
                   .m = cut(state->m, rows, first, n),
                   .v = cut(state->v, rows, first, n),
                   .row =
                       tensor_present(state->row) ? tensor_slice_rows(state->row, first / cols, n / cols) : NO_TENSOR };
}

/* The index within a parameter at which a cut of the bucket at `element` falls; if it falls within a row that must not
 * be divided, the end of that row. */
static int64_t cut_at(const Optimizer *opt, const State *state, int64_t element)
{
    Tensor w = state->w;
    int64_t unit = opt->method->by_rows && w.rank == 2 ? w.d[1] : 1;
    int64_t at = CLAMP(element - state->first, 0, tensor_count(w));
    return (at + unit - 1) / unit * unit;
}

static void run_on_range(const Optimizer *opt, const Phase *phase, const State *states, int n, Range range)
{
    device_group_begin(opt->store->dev);
    for (const State *state = states; state < states + n; state++) {
        int64_t first = cut_at(opt, state, range.begin), end = cut_at(opt, state, range.end);
        Part part = part_of(opt, state, first, end - first);
        if (end > first || phase->once)
            phase->run(opt, state, &part);
    }
    device_group_end(opt->store->dev);
}

/* Adafactor's sums, of a matrix whose columns are divided. A row's moment is the mean over all columns: the mean of the
 * ranks' moments, since each rank has equally many columns. Σ w² and the sum of the row moments are added up (see
 * adafactor_direction in optim_methods.c); the sums of columns stay each rank's own. */
static void join_columns(const Optimizer *opt, const State *state)
{
    Device *dev = opt->store->dev;
    TensorParallel *tp = &opt->store->shards.tp;
    Tensor moments = state->sums[SUMS_MOMENTS], row = state->row;
    Tensor rows = tensor_matrix(row.p, (DType)row.dtype, row.d[0], 1);

    tensor_parallel_sum(tp, dev, tensor_slice_rows(moments, 0, 2));
    tensor_parallel_sum(tp, dev, row);
    op_scale(dev, rows, rows, 1 / (float)tp->size);
}

/* Adds up the sums of a tensor over the tensor-parallel ranks that divide it; of ranks that have the same rows, the
 * first one's. */
static void join_sums(const Optimizer *opt, const Phase *phase, const State *state)
{
    if (state->param->spec.split == SPLIT_COPIED && tensor_present(state->sums[phase->kind]) &&
        !tensor_parallel_first_copy(&opt->store->shards.tp))
        op_fill(opt->store->dev, state->sums[phase->kind], 0);
    if (tensor_parallel_size(&opt->store->shards.tp) == 1 || !param_is_split(state->param))
        return;
    if (phase->kind == SUMS_MOMENTS && state->param->spec.split == SPLIT_COLS && tensor_present(state->row))
        join_columns(opt, state);
    else if (tensor_present(state->sums[phase->kind]))
        tensor_parallel_sum(&opt->store->shards.tp, opt->store->dev, state->sums[phase->kind]);
}

static void run_phase(const Optimizer *opt, const Phase *phase, const OptimBucket *bucket, const State *states, int n)
{
    const Range whole = { 0, G_MAXINT64 };
    if (bucket->ranges == NULL || phase->once)
        run_on_range(opt, phase, states, n, whole);
    for (guint i = 0; bucket->ranges && !phase->once && i < bucket->ranges->len; i++)
        run_on_range(opt, phase, states, n, g_array_index(bucket->ranges, Range, i));
    if (phase->sums && opt->reduce)
        opt->reduce(opt->reduce_context, bucket->sums[phase->kind]);
    for (int i = 0; phase->sums && i < n; i++)
        join_sums(opt, phase, &states[i]);
}

static void update_states(const Optimizer *opt, const OptimBucket *bucket, const State *states, int n)
{
    for (const Phase *phase = opt->method->phases; phase->run; phase++)
        run_phase(opt, phase, bucket, states, n);
}

/* If no sums are reduced in between, and the device does not profit from grouped operations, all operations of one
 * parameter run before the next parameter, since its data is still in the cache. */
void optimizer_update_bucket(const Optimizer *opt, const OptimBucket *bucket)
{
    int n = opt->reduce || device_groups(opt->store->dev) ? bucket->n_states : 1;
    for (int kind = 0; kind < SUMS_KINDS; kind++)
        if (tensor_present(bucket->sums[kind]))
            op_fill(opt->store->dev, bucket->sums[kind], 0);
    for (int i = 0; i < bucket->n_states; i += n)
        update_states(opt, bucket, bucket->states + i, n);
    params_publish(opt->store, (int)(bucket - opt->buckets));
}
