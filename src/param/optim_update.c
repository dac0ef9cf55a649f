/* optim_update.c: the update of a bucket, range by range, one operation after another. */
#include "param/optim_state.h"

/* Elements first … first + n - 1 of t, as rows of a matrix or as a vector. NO_TENSOR if t is NO_TENSOR. */
static Tensor cut_state(Tensor t, bool rows, int64_t first, int64_t n)
{
    if (!tensor_present(t))
        return t;
    if (rows && t.rank == 2)
        return tensor_slice_rows(t, first / t.d[1], n / t.d[1]);
    return tensor_slice_rows(tensor_flat(t), first, n);
}

static Part update_part(const State *state, int64_t first, int64_t n)
{
    const Tensor *own = state->param->own;
    const bool rows = state->method->unit >= UNIT_ROW;
    const int64_t cols = tensor_cols(state->w);
    Part part = { .w = cut_state(state->w, rows, first, n),
                  .rounded =
                      param_has_master(state->param) ? cut_state(own[REGION_WEIGHTS], rows, first, n) : NO_TENSOR,
                  .g = cut_state(own[REGION_GRADIENTS], rows, first, n) };
    for (int i = 0; i < MAX_STATES; i++) {
        const Tensor kept = state->kept[i];
        const StateShape shape = state->method->states[i].shape;
        part.kept[i] = shape == STATE_WHOLE                          ? cut_state(kept, rows, first, n)
                       : shape == STATE_ROWS && tensor_present(kept) ? tensor_slice_rows(kept, first / cols, n / cols)
                                                                     : kept;
    }
    return part;
}

/* The index within a parameter of a cut of the bucket at `element`; the end of a unit that the cut would divide. */
static int64_t cut_at(const State *state, int64_t element)
{
    Tensor w = state->w;
    int64_t unit = w.rank != 2 || state->method->unit == UNIT_ELEMENT ? 1
                   : state->method->unit == UNIT_ROW                  ? w.d[1]
                                                                      : MAX(tensor_count(w), 1);
    int64_t at = CLAMP(element - state->first, 0, tensor_count(w));
    return (at + unit - 1) / unit * unit;
}

/* The operation that the method of a parameter has in a phase; NULL means none. */
static const Phase *phase_of(const State *state, int phase)
{
    const Phase *of = &state->method->phases[phase];
    return of->run ? of : NULL;
}

/* Runs an operation on the part of a parameter that lies in a range. */
static void run_on_part(const Optimizer *opt, const Phase *phase, const State *state, Range range)
{
    const int64_t first = cut_at(state, range.begin), end = cut_at(state, range.end);
    const Part part = update_part(state, first, end - first);
    if (end > first || phase->once)
        phase->run(opt, state, &part);
}

/* Runs the operations of a phase on a range. once: only those that run once per parameter, or only the others. */
static void run_on_range(const Optimizer *opt, int p, bool once, const State *states, int n, Range range)
{
    for (int chain = 0; chain < 2; chain++) {
        if (!chain)
            device_group_begin(opt->store->dev);
        for (const State *state = states; state < states + n; state++) {
            const Phase *phase = phase_of(state, p);
            if (phase && phase->once == once && phase->chain == chain)
                run_on_part(opt, phase, state, range);
        }
        if (!chain)
            device_group_end(opt->store->dev);
    }
}

/* Adds up a parameter's sums over the tensor-parallel ranks that divide it; ranks with the same rows count once. */
static void join_sums(const Optimizer *opt, const Phase *phase, const State *state)
{
    TensorParallel *tp = &opt->store->shards.tp;
    const Tensor sums = state->sums[phase->kind];
    if (!tensor_present(sums))
        return;
    if (state->param->spec.split == SPLIT_COPIED && !tensor_parallel_first_copy(tp))
        op_fill(opt->store->dev, sums, 0);
    if (tensor_parallel_size(tp) == 1 || !param_is_split(state->param))
        return;
    if (phase->join)
        phase->join(opt, state);
    else
        tensor_parallel_sum(tp, opt->store->dev, sums);
}

/* Adds up the sums that the operations of a phase have left, over all ranks. */
static void reduce_sums(const Optimizer *opt, int p, const OptimBucket *bucket, const State *states, int n)
{
    for (int kind = 0; kind < SUMS_KINDS; kind++) {
        bool any = false;
        for (int i = 0; i < n; i++) {
            const Phase *phase = phase_of(&states[i], p);
            any |= phase && phase->sums && phase->kind == (SumsKind)kind;
        }
        if (any && opt->reduce)
            opt->reduce(opt->reduce_context, bucket->sums[kind]);
    }
    for (int i = 0; i < n; i++) {
        const Phase *phase = phase_of(&states[i], p);
        if (phase && phase->sums)
            join_sums(opt, phase, &states[i]);
    }
}

static void run_phase(const Optimizer *opt, int p, const OptimBucket *bucket, const State *states, int n)
{
    const Range whole = { 0, G_MAXINT64 };
    run_on_range(opt, p, true, states, n, whole);
    if (bucket->ranges == NULL)
        run_on_range(opt, p, false, states, n, whole);
    for (guint i = 0; bucket->ranges && i < bucket->ranges->len; i++)
        run_on_range(opt, p, false, states, n, g_array_index(bucket->ranges, Range, i));
    reduce_sums(opt, p, bucket, states, n);
}

/* If no sums are reduced in between, and the device does not profit from grouped operations, all operations of one
 * parameter run before the next parameter, since its data is still in the cache. */
void optimizer_update_bucket(const Optimizer *opt, const OptimBucket *bucket)
{
    int n = opt->reduce || device_groups(opt->store->dev) ? bucket->n_states : 1;
    if (bucket->rests)
        return;
    for (int kind = 0; kind < SUMS_KINDS; kind++)
        if (tensor_present(bucket->sums[kind]))
            op_fill(opt->store->dev, bucket->sums[kind], 0);
    for (int i = 0; i < bucket->n_states; i += n)
        for (int phase = 0; phase < MAX_PHASES; phase++)
            run_phase(opt, phase, bucket, bucket->states + i, n);
    params_publish(opt->store, (int)(bucket - opt->buckets));
}
