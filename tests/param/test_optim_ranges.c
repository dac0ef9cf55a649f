/* An update made in ranges, by one process or by several ranks, is the update of the whole. */
#include "optim_defaults.h"
#include "param/store.h"

#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

typedef struct View {
    Tensor norm, q, k, qk, small, out;
} View;

#define AT(member) offsetof(View, member)

/* Bucket 0: 37 + 30·24 + 20·24 + 50·17 elements; bucket 1: 129·33; bucket 2: frozen. */
static const ParamSpec specs[] = {
    { "norm", 0, AT(norm), -1, 37, 0, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, false, false, PARAM_MATRIX, 1, 1 },
    { "q", 0, AT(q), AT(qk), 30, 24, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 0.3, true, false, PARAM_MATRIX, 1, 1 },
    { "k", 0, AT(k), AT(qk), 20, 24, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 0.2, true, false, PARAM_MATRIX, 1, 1 },
    { "small", 0, AT(small), -1, 50, 17, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 1, true, false, PARAM_MATRIX, 1, 1 },
    { "out", 1, AT(out), -1, 129, 33, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 0.1, true, false, PARAM_MATRIX, 1, 1 },
    { "frozen", 2, AT(norm), -1, 9, 0, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, false, true, PARAM_MATRIX, 1, 1 },
};
enum { N_SPECS = G_N_ELEMENTS(specs), UPDATES = 4, RANKS = 3 };
static const int64_t bucket_elements[] = { 37 + 50 * 24 + 50 * 17, 129 * 33 };

static OptimConfig config_of(OptimKind kind, double beta1)
{
    OptimConfig config = optim_defaults(kind);
    config.lr = 1e-2;
    config.weight_decay = 0.1;
    config.beta1 = beta1;
    config.min_dim_factored = 18;
    return config;
}

typedef struct Trained {
    Device *dev;
    ParamStore *store;
    Optimizer *opt;
} Trained;

static Trained trained_open(const OptimConfig *config)
{
    Trained t = { .dev = device_open_cpu(2, precision_uniform(DT_F32)) };
    t.store = params_open(t.dev, specs, N_SPECS, NULL, true);
    t.opt = optimizer_open(t.store, config, NULL);
    params_init(t.store, 3);
    return t;
}

static void trained_close(Trained *t)
{
    optimizer_close(t->opt);
    params_close(t->store);
    device_close(t->dev);
}

static void trained_step(Trained *t, int update)
{
    Philox rng = philox_open(philox_key(5, PHILOX_INIT, 0), (uint64_t)update);
    for (int i = 0; i < params_count(t->store); i++) {
        Tensor g = params_get(t->store, i)->g;
        g_autofree float *values = g_new(float, (gsize)tensor_count(g));
        for (int64_t j = 0; j < tensor_count(g); j++)
            values[j] = (float)philox_normal(&rng);
        if (tensor_present(g))
            tensor_write(t->dev, g, values, DT_F32);
    }
    optimizer_step(t->opt, update, 1e-2, 1, 1);
}

static void assert_near(const char *name, const float *a, const float *b, int64_t n, double tolerance)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabs((double)a[i] - (double)b[i]) <= tolerance * fmax(1e-3, fabs((double)b[i]))))
            g_error("%s[%d]: %.9g, whole %.9g", name, (int)i, (double)a[i], (double)b[i]);
}

static float *weights_of(const Trained *t, int index, int64_t *n)
{
    const ParamSpec *spec = params_spec(t->store, index);
    *n = spec->rows * MAX(spec->cols, 1);
    float *values = g_new(float, (gsize)*n);
    params_read(t->store, index, NULL, DT_F32, values);
    return values;
}

static float *state_of(const Trained *t, int index, int64_t *n)
{
    OptimState state = optimizer_state(t->opt, index);
    *n = state.rows * MAX(state.cols, 1);
    float *values = g_new(float, (gsize)*n);
    optimizer_read(t->opt, index, NULL, DT_F32, values);
    return values;
}

static void assert_same(const Trained *a, const Trained *b, double tolerance)
{
    int64_t n;
    for (int i = 0; i < params_count(a->store); i++) {
        g_autofree float *x = weights_of(a, i, &n), *y = weights_of(b, i, &n);
        assert_near(params_spec(a->store, i)->name, x, y, n, tolerance);
    }
    for (int i = 0; i < optimizer_state_count(a->opt); i++) {
        g_autofree float *x = state_of(a, i, &n), *y = state_of(b, i, &n);
        assert_near(optimizer_state(a->opt, i).name, x, y, n, tolerance);
    }
}

/* n ranges of a bucket that cover it: equal, or with the odd cuts. */
static void set_ranges(Trained *t, int n)
{
    static const int64_t odd[] = { 0, 1, 2, 36, 39, 40, 800, 801, 1999, G_MAXINT32 };
    Range ranges[G_N_ELEMENTS(odd)];
    for (int b = 0; b < 2; b++) {
        for (int i = 0; i < n; i++)
            ranges[i] = (Range){ bucket_elements[b] * i / n, bucket_elements[b] * (i + 1) / n };
        for (size_t i = 0; n == 0 && i + 1 < G_N_ELEMENTS(odd); i++)
            ranges[i] = (Range){ odd[i], odd[i + 1] };
        optimizer_set_ranges(t->opt, b, ranges, n ? n : (int)G_N_ELEMENTS(odd) - 1);
    }
}

typedef struct Case {
    const char *name;
    OptimKind kind;
    double beta1, tolerance;
} Case;

static const Case cases[] = { { "adamw", OPTIM_ADAMW, -1, 0 },
                              { "adamw_rms", OPTIM_ADAMW_RMS, -1, 1e-6 },
                              { "adafactor", OPTIM_ADAFACTOR, 0, 1e-6 },
                              { "adafactor_with_momentum", OPTIM_ADAFACTOR, 0.9, 1e-6 },
                              { "muon", OPTIM_MUON, -1, 0 } };

static void ranges_make_the_whole(const void *data)
{
    static const int counts[] = { 1, 2, 3, 8, 0 };
    const Case *c = data;
    OptimConfig config = config_of(c->kind, c->beta1);
    for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
        Trained whole = trained_open(&config), cut = trained_open(&config);
        set_ranges(&cut, counts[i]);
        for (int update = 1; update <= UPDATES; update++) {
            trained_step(&whole, update);
            trained_step(&cut, update);
        }
        assert_same(&cut, &whole, counts[i] == 1 ? 0 : c->tolerance);
        trained_close(&whole);
        trained_close(&cut);
    }
}

/* Ranks are threads, each with a model of its own, of which it updates a third of each bucket. */
typedef struct World {
    const OptimConfig *config;
    pthread_barrier_t barrier;
    const double *sums[RANKS];
    Trained ranks[RANKS];
} World;

typedef struct Rank {
    World *world;
    int number;
} Rank;

/* An all-reduce: every rank adds up everybody's sums in the same order. */
static void add_up(void *context, Tensor sums)
{
    Rank *rank = context;
    World *world = rank->world;
    Device *dev = world->ranks[rank->number].dev;
    g_autofree double *own = g_new(double, (gsize)sums.d[0]), *total = g_new0(double, (gsize)sums.d[0]);
    tensor_read(dev, own, DT_F64, sums);
    world->sums[rank->number] = own;
    pthread_barrier_wait(&world->barrier);
    for (int r = 0; r < RANKS; r++)
        for (int64_t i = 0; i < sums.d[0]; i++)
            total[i] += world->sums[r][i];
    pthread_barrier_wait(&world->barrier);
    tensor_write(dev, sums, total, DT_F64);
}

static void *run_rank(void *context)
{
    Rank *rank = context;
    Trained *t = &rank->world->ranks[rank->number];
    *t = trained_open(rank->world->config);
    optimizer_on_sums(t->opt, add_up, rank);
    for (int b = 0; b < 2; b++) {
        int64_t n = bucket_elements[b], r = rank->number;
        optimizer_set_ranges(t->opt, b, &(Range){ n * r / RANKS, n * (r + 1) / RANKS }, 1);
    }
    for (int update = 1; update <= UPDATES; update++)
        trained_step(t, update);
    return NULL;
}

/* Each element of a bucket was changed by exactly one rank, into what the update of the whole makes of it. */
static void ranks_make_the_whole(const void *data)
{
    const Case *c = data;
    OptimConfig config = config_of(c->kind, c->beta1);
    World world = { .config = &config };
    Rank ranks[RANKS];
    pthread_t threads[RANKS];
    Trained whole = trained_open(&config), start = trained_open(&config);

    for (int update = 1; update <= UPDATES; update++)
        trained_step(&whole, update);
    pthread_barrier_init(&world.barrier, NULL, RANKS);
    for (int r = 0; r < RANKS; r++) {
        ranks[r] = (Rank){ &world, r };
        g_assert_cmpint(pthread_create(&threads[r], NULL, run_rank, &ranks[r]), ==, 0);
    }
    for (int r = 0; r < RANKS; r++)
        pthread_join(threads[r], NULL);
    for (int i = 0; i < params_count(whole.store); i++) {
        int64_t n;
        g_autofree float *wanted = weights_of(&whole, i, &n), *before = weights_of(&start, i, &n);
        g_autofree float *joined = g_memdup2(before, (gsize)n * sizeof(float));
        for (int r = 0; r < RANKS; r++) {
            g_autofree float *its = weights_of(&world.ranks[r], i, &n);
            for (int64_t j = 0; j < n; j++) {
                g_assert_true(its[j] == before[j] || joined[j] == before[j]);
                joined[j] = its[j] == before[j] ? joined[j] : its[j];
            }
        }
        assert_near(params_spec(whole.store, i)->name, joined, wanted, n, c->tolerance);
    }
    for (int r = 0; r < RANKS; r++)
        trained_close(&world.ranks[r]);
    pthread_barrier_destroy(&world.barrier);
    trained_close(&whole);
    trained_close(&start);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autofree char *ranges = g_strdup_printf("/optim_ranges/make_the_whole/%s", cases[i].name);
        g_autofree char *ranks = g_strdup_printf("/optim_ranges/ranks_make_the_whole/%s", cases[i].name);
        g_test_add_data_func(ranges, &cases[i], ranges_make_the_whole);
        g_test_add_data_func(ranks, &cases[i], ranks_make_the_whole);
    }
    return g_test_run();
}
