/* Optimizer states and master weights in memory of the host change no bit of an update, and are read and written there.
 */
#include "optim_defaults.h"
#include "param/store.h"

#include <stddef.h>
#include <string.h>

typedef struct View {
    Tensor norm, q, k, qk, out;
} View;

#define AT(member) offsetof(View, member)

/* Four buckets, so that each stage has several; one without trained parameters between them. */
static const ParamSpec specs[] = {
    { "a.norm", 0, AT(norm), -1, 37, 0, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, false, false, PARAM_MATRIX, 1, 1 },
    { "a.q", 0, AT(q), AT(qk), 30, 24, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 0.3, true, false, PARAM_MATRIX, 1, 1 },
    { "a.k", 0, AT(k), AT(qk), 20, 24, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 0.2, true, false, PARAM_MATRIX, 1, 1 },
    { "b.frozen", 1, AT(out), -1, 9, 11, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 1, true, true, PARAM_MATRIX, 1, 1 },
    { "c.out", 2, AT(out), -1, 65, 33, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 0.1, true, false, PARAM_MATRIX, 1, 1 },
    { "c.frozen", 2, AT(q), -1, 7, 5, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 0.1, true, true, PARAM_MATRIX, 1, 1 },
    { "d.out", 3, AT(out), -1, 5, 70, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 0.1, true, false, PARAM_MATRIX, 1, 1 },
    { "e.norm", 4, AT(norm), -1, 70, 0, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, false, false, PARAM_MATRIX, 1, 1 },
};

static OptimConfig config_of(OptimKind kind)
{
    OptimConfig config = optim_defaults(kind);
    config.lr = 1e-2;
    config.weight_decay = 0.1;
    config.beta1 = kind == OPTIM_ADAFACTOR ? 0.9 : -1;
    config.min_dim_factored = 18;
    return config;
}

typedef struct Trained {
    Device *dev;
    ParamStore *store;
    Optimizer *opt;
} Trained;

static Trained trained_open(OptimKind kind, DType compute, bool offload)
{
    OptimConfig config = config_of(kind);
    Precision precision = precision_uniform(DT_F32);
    precision.compute = compute;
    precision.offload = offload;
    Trained t = { .dev = device_open_cpu(1, precision) };
    t.store = params_open(t.dev, specs, G_N_ELEMENTS(specs), NULL, true);
    t.opt = optimizer_open(t.store, &config, NULL);
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
        g_autofree float *values = g_new(float, (gsize)tensor_count(g) + 1);
        for (int64_t j = 0; j < tensor_count(g); j++)
            values[j] = (float)philox_normal(&rng);
        if (tensor_present(g))
            tensor_write(t->dev, g, values, DT_F32);
    }
    optimizer_step(t->opt, update, 1e-2, 1, 1);
}

/* Masters, weights as layers compute with them, and states. */
static void assert_same(const Trained *a, const Trained *b)
{
    enum { ROOM = 65 * 33 };
    static float x[ROOM], y[ROOM];
    for (int i = 0; i < params_count(a->store); i++) {
        const Param *p = params_get(a->store, i), *q = params_get(b->store, i);
        size_t bytes = (size_t)tensor_count(p->w) * sizeof(float);
        params_read(a->store, i, NULL, DT_F32, x);
        params_read(b->store, i, NULL, DT_F32, y);
        g_assert_true(memcmp(x, y, bytes) == 0);
        tensor_read(a->dev, x, DT_F32, p->w);
        tensor_read(b->dev, y, DT_F32, q->w);
        g_assert_true(memcmp(x, y, bytes) == 0);
    }
    g_assert_cmpint(optimizer_state_count(a->opt), ==, optimizer_state_count(b->opt));
    for (int i = 0; i < optimizer_state_count(a->opt); i++) {
        OptimState state = optimizer_state(a->opt, i);
        g_assert_cmpstr(state.name, ==, optimizer_state(b->opt, i).name);
        optimizer_read(a->opt, i, NULL, DT_F32, x);
        optimizer_read(b->opt, i, NULL, DT_F32, y);
        g_assert_true(memcmp(x, y, (size_t)(state.rows * MAX(state.cols, 1)) * sizeof(float)) == 0);
    }
}

/* Numbers written into a part of each parameter and state count in the next update. */
static void write_parts(Trained *t)
{
    static const float values[] = { 0.5f, 0.25f, 2, 1 };
    const Box rows = { { 1, 0 }, { 4, 1 } }, square = { { 1, 2 }, { 2, 2 } };
    for (int i = 0; i < params_count(t->store); i++)
        params_write(t->store, i, params_spec(t->store, i)->cols ? &square : &rows, DT_F32, values);
    for (int i = 0; i < optimizer_state_count(t->opt); i++)
        optimizer_write(t->opt, i, optimizer_state(t->opt, i).cols ? &square : &rows, DT_F32, values);
}

static void changes_no_bit(const void *data)
{
    static const DType dtypes[] = { DT_F32, DT_BF16, DT_F16 };
    for (size_t i = 0; i < G_N_ELEMENTS(dtypes); i++) {
        Trained whole = trained_open((OptimKind)GPOINTER_TO_INT(data), dtypes[i], false);
        Trained host = trained_open((OptimKind)GPOINTER_TO_INT(data), dtypes[i], true);
        assert_same(&whole, &host);
        for (int update = 1; update <= 4; update++) {
            trained_step(&whole, update);
            trained_step(&host, update);
            assert_same(&whole, &host);
            write_parts(&whole);
            write_parts(&host);
        }
        g_assert_cmpuint(optimizer_bytes(whole.opt), ==, optimizer_bytes(host.opt));
        g_assert_cmpuint(optimizer_device_bytes(whole.opt), >=, optimizer_bytes(whole.opt));
        trained_close(&whole);
        trained_close(&host);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/optim_offload/changes_no_bit/adamw", GINT_TO_POINTER(OPTIM_ADAMW), changes_no_bit);
    g_test_add_data_func("/optim_offload/changes_no_bit/adafactor", GINT_TO_POINTER(OPTIM_ADAFACTOR), changes_no_bit);
    g_test_add_data_func("/optim_offload/changes_no_bit/adamw_rms", GINT_TO_POINTER(OPTIM_ADAMW_RMS), changes_no_bit);
    g_test_add_data_func("/optim_offload/changes_no_bit/muon", GINT_TO_POINTER(OPTIM_MUON), changes_no_bit);
    return g_test_run();
}
