/* Ranks that hold a store together: what each holds and sends is what the formulas of ZeRO say, and together they train
 * what ranks train that hold everything. */
#include "optim_defaults.h"
#include "param/store.h"

#include <string.h>

typedef struct View {
    Tensor a, b, ab, norm, still;
} View;
#define AT(member) offsetof(View, member)

/* A bucket outside the blocks, and four blocks of fused matrices, a vector and a frozen matrix. Their parts are equal
 * for two, three and four ranks, without the vectors and the frozen matrices also in whole 64 elements. */
enum { OUTER = 96 * 16, BLOCK = 2 * 48 * 16, BLOCKS = 4, MICROBATCHES = 3, STEPS = 3, RANKS = 4 };
typedef struct Shape {
    bool vectors, frozen;
} Shape;

static ParamSpec *specs_of(Shape shape, int *n)
{
    ParamSpec *specs = g_new0(ParamSpec, 1 + 4 * BLOCKS);
    *n = 0;
    specs[(*n)++] = (ParamSpec){ "table",     0, AT(a), -1,    96,           16, SPLIT_NONE, TIE_NONE,
                                 INIT_NORMAL, 1, true,  false, PARAM_MATRIX, 1,  1 };
    for (int b = 1; b <= BLOCKS; b++) {
        const ParamSpec block[] = {
            { "", b, AT(a), AT(ab), 40, 16, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 1, true, false, PARAM_MATRIX, 1, 1 },
            { "", b, AT(b), AT(ab), 56, 16, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 1, true, false, PARAM_MATRIX, 1, 1 },
            { "", b, AT(norm), -1, 13, 0, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, false, false, PARAM_MATRIX, 1, 1 },
            { "", b, AT(still), -1, 12, 5, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 1, true, true, PARAM_MATRIX, 1, 1 }
        };
        const bool present[] = { true, true, shape.vectors, shape.frozen };
        for (int i = 0; i < 4; i++) {
            if (!present[i])
                continue;
            specs[*n] = block[i];
            g_snprintf(specs[*n].name, sizeof specs[*n].name, "%d.%d", b, i);
            ++*n;
        }
    }
    return specs;
}

typedef struct Case {
    Shape shape;
    int ranks;
    ZeroLevel level;
    OptimKind optimizer;
    Precision precision;
    float *weights[RANKS]; /* the trained weights of all parameters, as each rank computes with them */
    int64_t n_weights;
    ParamBytes bytes[RANKS];
    size_t states[RANKS];
    int64_t sent[RANKS];
} Case;

/* Some gradient, of this rank, step and microbatch. */
static void write_gradient(Device *dev, Tensor g, int rank, int number)
{
    Philox rng = philox_open(philox_key((uint64_t)rank, PHILOX_INIT, 0), (uint64_t)number);
    g_autofree float *values = g_new(float, (gsize)tensor_count(g));
    for (int64_t i = 0; i < tensor_count(g); i++)
        values[i] = (float)philox_normal(&rng);
    tensor_write(dev, g, values, DT_F32);
}

/* Adds to what the microbatches before left, unless beta is 0. */
static void add_gradient(Device *dev, Tensor g, int rank, int number, float beta)
{
    if (!tensor_present(g))
        return;
    g_autofree float *before = g_new0(float, (gsize)tensor_count(g));
    g_autofree float *now = g_new0(float, (gsize)tensor_count(g));
    tensor_read(dev, before, DT_F32, g);
    write_gradient(dev, g, rank, number);
    tensor_read(dev, now, DT_F32, g);
    for (int64_t i = 0; beta > 0 && i < tensor_count(g); i++)
        now[i] += before[i];
    tensor_write(dev, g, now, DT_F32);
}

static void bucket_gradients(ParamStore *store, int bucket, int rank, int number)
{
    View g = { 0 };
    float beta = grads_acquire(store, bucket, &g);
    add_gradient(store->dev, g.a, rank, 5 * number + 0, beta);
    add_gradient(store->dev, g.b, rank, 5 * number + 1, beta);
    add_gradient(store->dev, g.norm, rank, 5 * number + 2, beta);
    grads_ready(store, bucket);
}

/* Forward over the blocks and back, as a stack does it. */
static void microbatch(ParamStore *store, int rank, int number)
{
    View w = { 0 };
    for (int b = 1; b <= BLOCKS; b++) {
        params_acquire(store, b, &w);
        if (b < BLOCKS)
            params_prefetch(store, b + 1);
        params_release(store, b);
    }
    for (int b = BLOCKS; b >= 1; b--) {
        params_acquire(store, b, &w);
        if (b > 1)
            params_prefetch(store, b - 1);
        bucket_gradients(store, b, rank, number * 10 + b);
        params_release(store, b);
    }
    bucket_gradients(store, 0, rank, number * 10);
}

/* The weights of all buckets as layers see them. */
static void read_weights(ParamStore *store, Case *c, int rank)
{
    c->weights[rank] = g_new0(float, 100000);
    int64_t n = 0;
    for (int b = 0; b <= BLOCKS; b++) {
        View w = { 0 };
        params_acquire(store, b, &w);
        const Tensor all[] = { w.a, w.b, w.norm, w.still };
        for (size_t i = 0; i < G_N_ELEMENTS(all); i++)
            if (tensor_present(all[i])) {
                tensor_read(store->dev, c->weights[rank] + n, DT_F32, all[i]);
                n += tensor_count(all[i]);
            }
        params_release(store, b);
    }
    if (rank == 0)
        c->n_weights = n;
}

static void run_rank(Comm *comm, void *context)
{
    Case *c = context;
    int rank = comm_rank(comm), n;
    Device *dev = device_open_cpu(1, c->precision);
    g_autofree ParamSpec *specs = specs_of(c->shape, &n);
    OptimConfig config = optim_defaults(c->optimizer);
    config.min_dim_factored = 8;
    Sharding shards = { .ranks = comm, .rank = rank, .size = comm_size(comm), .level = c->level, .first_block = 1 };
    optimizer_units(&config, shards.units);
    ParamStore *store = params_open_sharded(dev, specs, n, NULL, true, &shards);
    Optimizer *opt = optimizer_open(store, &config, NULL);
    params_init(store, 3);
    for (int step = 1; step <= STEPS; step++) {
        int64_t sent = comm_counts(comm).sent_bytes, counted = sent_total(params_sent(store));
        grads_begin(store, MICROBATCHES);
        for (int m = 0; m < MICROBATCHES; m++)
            microbatch(store, rank, 100 * step + m);
        double norm = grads_norm(store);
        optimizer_step(opt, step, 1e-2, norm, 1);
        params_settle(store);
        counted = sent_total(params_sent(store)) - counted;
        sent = comm_counts(comm).sent_bytes - sent - 8 * (comm_size(comm) - 1); /* the norm's sum is of the host */
        g_assert_cmpint(comm_size(comm) > 1 ? sent : 0, ==, counted);
        c->sent[rank] = counted;
    }
    c->bytes[rank] = params_bytes(store);
    c->states[rank] = optimizer_bytes(opt);
    read_weights(store, c, rank);
    optimizer_close(opt);
    params_close(store);
    device_close(dev);
}

static void run_case(Case *c)
{
    comm_run_threads(c->ranks, 20, run_rank, c);
}

static void clear_case(Case *c)
{
    for (int r = 0; r < c->ranks; r++)
        g_free(c->weights[r]);
}

static Precision mixed(void)
{
    Precision precision = precision_uniform(DT_F32);
    precision.compute = DT_BF16;
    return precision;
}

static Case case_of(Shape shape, int ranks, int level, OptimKind optimizer, int mix)
{
    return (Case){ .shape = shape,
                   .ranks = ranks,
                   .level = (ZeroLevel)level,
                   .optimizer = optimizer,
                   .precision = mix ? mixed() : precision_uniform(DT_F32) };
}

static void assert_same(const float *a, const float *b, int64_t n)
{
    g_assert_cmpint(memcmp(a, b, (size_t)n * sizeof *a), ==, 0);
}

/* What a rank sends in a step after the first microbatch's weights were forgotten: a reduce-scatter or an all-gather of
 * x bytes sends x(R-1)/R, an all-reduce is both. */
static int64_t formula(const Case *c)
{
    int64_t size = (int64_t)dtype_bytes(c->precision.compute), m = MICROBATCHES, blocks = BLOCKS;
    int64_t outer_g = OUTER * 4, g = BLOCK * 4, outer_w = OUTER * size, w = BLOCK * size, all = 0;
    int64_t gathers = blocks + blocks - 2 + (m - 1) * 2 * (blocks - 2); /* two buffers stay where a walk turns */
    all += outer_g + blocks * g * (c->level >= ZERO_GRADIENTS ? m : 1);
    all += c->level == ZERO_NONE ? outer_g + blocks * g : outer_w;
    all += c->level == ZERO_WEIGHTS ? gathers * w : c->level == ZERO_NONE ? 0 : blocks * w;
    return all / c->ranks * (c->ranks - 1);
}

static void a_rank_holds_and_sends_what_the_formulas_say(void)
{
    for (int mix = 0; mix < 2; mix++)
        for (int ranks = 2; ranks <= RANKS; ranks++)
            for (int level = ZERO_NONE; level <= ZERO_WEIGHTS; level++) {
                Case c = case_of((Shape){ false, false }, ranks, level, OPTIM_ADAMW, mix);
                run_case(&c);
                size_t size = dtype_bytes(c.precision.compute), all = OUTER + BLOCKS * BLOCK, n = (size_t)ranks;
                size_t blocks = (size_t)BLOCKS * BLOCK, part = level > ZERO_NONE ? n : 1;
                for (int r = 0; r < ranks; r++) {
                    g_assert_cmpuint(c.states[r], ==, 2 * all * 4 / part);
                    g_assert_cmpuint(c.bytes[r].masters, ==, mix ? all * 4 / part : 0);
                    g_assert_cmpuint(c.bytes[r].updated, ==, all * (4 + 2 * size + (mix ? 2 * 4 : 0)) / part);
                    g_assert_cmpuint(c.bytes[r].gradients, ==,
                                     level < ZERO_GRADIENTS ? all * 4
                                                            : (OUTER + blocks / n + 2 * (BLOCK + BLOCK / n)) * 4);
                    g_assert_cmpuint(c.bytes[r].weights, ==,
                                     level < ZERO_WEIGHTS ? all * size : (OUTER + blocks / n + 2 * BLOCK) * size);
                    g_assert_cmpint(c.sent[r], ==, formula(&c));
                }
                clear_case(&c);
            }
}

/* Levels 0 and 1 add up microbatches before ranks, levels 2 and 3 ranks before microbatches: each pair with the same
 * bits on all ranks. */
static void levels_agree(const void *data)
{
    const OptimKind optimizer = (OptimKind)GPOINTER_TO_INT(data);
    for (int mix = 0; mix < 2; mix++)
        for (int ranks = 2; ranks <= RANKS; ranks++) {
            Case c[4];
            for (int level = 0; level < 4; level++) {
                c[level] = case_of((Shape){ true, true }, ranks, level, optimizer, mix);
                run_case(&c[level]);
                for (int r = 0; r < ranks; r++)
                    assert_same(c[level].weights[r], c[level & 2].weights[0], c[level].n_weights);
            }
            for (int64_t i = 0; i < c[0].n_weights; i++)
                g_assert_cmpfloat_with_epsilon(c[0].weights[0][i], c[3].weights[0][i], mix ? 0.05 : 1e-3);
            for (int level = 0; level < 4; level++)
                clear_case(&c[level]);
        }
}

/* Numbers that a rank writes are read back from the ranks that hold them. */
static void write_and_read(Comm *comm, void *context)
{
    const Case *c = context;
    Device *dev = device_open_cpu(1, c->precision);
    int n, rank = comm_rank(comm);
    g_autofree ParamSpec *specs = specs_of(c->shape, &n);
    const Sharding shards = {
        .ranks = comm, .rank = rank, .size = comm_size(comm), .level = c->level, .first_block = 1
    };
    ParamStore *store = params_open_sharded(dev, specs, n, NULL, true, &shards);
    for (int i = 0; i < n; i++) {
        int64_t cols = MAX(specs[i].cols, 1), count = specs[i].rows * cols;
        g_autofree float *values = g_new(float, (gsize)count), *back = g_new0(float, (gsize)count);
        for (int64_t j = 0; j < count; j++)
            values[j] = (float)(j % 251);
        const Box upper = { { 0, 0 }, { specs[i].rows / 2, cols } },
                  lower = { { specs[i].rows / 2, 0 }, { specs[i].rows - specs[i].rows / 2, cols } };
        params_write(store, i, &upper, DT_F32, values);
        params_write(store, i, &lower, DT_F32, values + upper.shape[0] * cols);
        const Box part = params_part(store, i);
        params_read(store, i, &part, DT_F32, back);
        assert_same(back, values + part.start[0] * cols, part.shape[0] * cols);
    }
    params_close(store);
    device_close(dev);
}

static void boxes_reach_their_ranks(void)
{
    for (int mix = 0; mix < 2; mix++)
        for (int ranks = 1; ranks <= RANKS; ranks++)
            for (int level = ZERO_NONE; level <= ZERO_WEIGHTS; level++) {
                Case c = case_of((Shape){ true, true }, ranks, level, OPTIM_ADAMW, mix);
                comm_run_threads(ranks, 20, write_and_read, &c);
            }
}

/* Block b of the store has the values of block b of `whole`, a store of one rank. */
static void assert_block(ParamStore *store, ParamStore *whole, int b)
{
    View w = { 0 }, wanted = { 0 };
    params_acquire(store, b, &w);
    params_acquire(whole, b, &wanted);
    const int64_t count = tensor_count(wanted.ab);
    g_autofree float *values = g_new0(float, count), *right = g_new0(float, count);
    tensor_read(store->dev, values, DT_F32, w.ab);
    tensor_read(whole->dev, right, DT_F32, wanted.ab);
    assert_same(values, right, count);
    params_release(whole, b);
    params_release(store, b);
}

/* Each rank uses blocks in an order and number of its own, two at once at times; afterwards all walk alike again. */
static void walk_apart(Comm *comm, void *context)
{
    const Case *c = context;
    Device *dev = device_open_cpu(1, c->precision);
    int n, rank = comm_rank(comm);
    g_autofree ParamSpec *specs = specs_of(c->shape, &n);
    const Sharding shards = {
        .ranks = comm, .rank = rank, .size = comm_size(comm), .level = c->level, .first_block = 1
    };
    ParamStore *store = params_open_sharded(dev, specs, n, NULL, true, &shards);
    ParamStore *whole = params_open(dev, specs, n, NULL, false);
    Philox rng = philox_open(philox_key((uint64_t)rank, PHILOX_INIT, 0), 5);
    View held = { 0 };
    params_init(store, 3);
    params_init(whole, 3);
    for (int turn = 0; turn < 2; turn++) {
        params_unlike(store);
        for (int i = 0; i < 5 + 9 * rank; i++) {
            const int first = 1 + (int)philox_below(&rng, BLOCKS), second = 1 + first % BLOCKS;
            assert_block(store, whole, first);
            params_acquire(store, first, &held);
            params_prefetch(store, second);
            assert_block(store, whole, second);
            params_release(store, first);
        }
        params_alike_again(store);
        grads_begin(store, 1);
        microbatch(store, rank, turn);
        grads_norm(store);
        for (int b = 1; b <= BLOCKS; b++)
            assert_block(store, whole, b);
    }
    params_close(whole);
    params_close(store);
    device_close(dev);
}

static void ranks_use_blocks_in_orders_of_their_own(void)
{
    for (int ranks = 1; ranks <= RANKS; ranks++)
        for (int level = ZERO_GRADIENTS; level <= ZERO_WEIGHTS; level++) {
            Case c = case_of((Shape){ true, true }, ranks, level, OPTIM_ADAMW, 0);
            comm_run_threads(ranks, 20, walk_apart, &c);
        }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/shard/a_rank_holds_and_sends_what_the_formulas_say",
                    a_rank_holds_and_sends_what_the_formulas_say);
    g_test_add_data_func("/shard/levels_agree/adamw", GINT_TO_POINTER(OPTIM_ADAMW), levels_agree);
    g_test_add_data_func("/shard/levels_agree/adamw_rms", GINT_TO_POINTER(OPTIM_ADAMW_RMS), levels_agree);
    g_test_add_data_func("/shard/levels_agree/muon", GINT_TO_POINTER(OPTIM_MUON), levels_agree);
    g_test_add_data_func("/shard/levels_agree/adafactor", GINT_TO_POINTER(OPTIM_ADAFACTOR), levels_agree);
    g_test_add_func("/shard/boxes_reach_their_ranks", boxes_reach_their_ranks);
    g_test_add_func("/shard/ranks_use_blocks_in_orders_of_their_own", ranks_use_blocks_in_orders_of_their_own);
    return g_test_run();
}
