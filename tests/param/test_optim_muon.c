/* Muon is torch.optim.Muon for the matrices of blocks and AdamW for the rest, and ranks own whole matrices. */
#include "format/safetensors.h"
#include "golden.h"
#include "optim_defaults.h"
#include "param/store.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef struct View {
    Tensor t[9];
} View;

#define FIELD(i) offsetof(View, t[i])
#define MATRIX(name, i, rows, cols)                                                                                    \
    {                                                                                                                  \
        name, 0, FIELD(i), -1, rows, cols, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 0.3, true, false, PARAM_MATRIX, 1, 1     \
    }

/* As in tools/make-muon.py. */
static const ParamSpec matrices[] = { MATRIX("tall", 0, 20, 8), MATRIX("wide", 1, 6, 24), MATRIX("square", 2, 12, 12) };
enum { N_MATRICES = G_N_ELEMENTS(matrices), MOST = 160, SEED = 12345 };

/* Numbers in (-0.5, 0.5), by Park and Miller (1988). */
static void next_numbers(int64_t *state, float *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        *state = *state * 16807 % 2147483647;
        values[i] = (float)((double)*state / 2147483647 - 0.5);
    }
}

static OptimConfig torch_config(MuonScale scale)
{
    OptimConfig config = optim_defaults(OPTIM_MUON);
    config.lr = 0.02;
    config.weight_decay = 0.1;
    config.muon_scale = (int)scale;
    return config;
}

/* Compares the matrices with those that the file has for this number of updates. */
static void compare(ParamStore *store, const TensorFile *file, const char *arithmetic, const char *scale, int update,
                    double tolerance)
{
    for (int i = 0; i < N_MATRICES; i++) {
        float wanted[MOST], got[MOST];
        const int64_t n = matrices[i].rows * matrices[i].cols;
        g_autofree char *name = g_strdup_printf("%s.%s.%s.%d", arithmetic, scale, matrices[i].name, update);
        g_assert_true(file_tensor_read_f32(tensor_file_find(file, name), 0, n, wanted, NULL));
        params_read(store, i, NULL, DT_F32, got);
        for (int64_t j = 0; j < n; j++)
            if (!(fabs((double)got[j] - (double)wanted[j]) <= tolerance))
                g_error("%s[%d] is %.8f, not %.8f", name, (int)j, (double)got[j], (double)wanted[j]);
    }
}

/* 20 updates on this device, which it closes. */
static void check_torch(Device *dev, const char *arithmetic, double tolerance)
{
    static const char *const scales[] = { [MUON_ORIGINAL] = "original", [MUON_MATCH_RMS_ADAMW] = "match_rms_adamw" };
    g_autoptr(TensorFile) file = safetensors_open(GOLDEN "muon.safetensors", NULL);
    g_assert_nonnull(file);
    for (int scale = MUON_ORIGINAL; scale <= MUON_MATCH_RMS_ADAMW; scale++) {
        const OptimConfig config = torch_config((MuonScale)scale);
        ParamStore *store = params_open(dev, matrices, N_MATRICES, NULL, true);
        Optimizer *opt = optimizer_open(store, &config, NULL);
        int64_t state = SEED;
        float values[MOST];
        for (int i = 0; i < N_MATRICES; i++) {
            next_numbers(&state, values, matrices[i].rows * matrices[i].cols);
            params_write(store, i, NULL, DT_F32, values);
        }
        for (int update = 1; update <= 20; update++) {
            for (int i = 0; i < N_MATRICES; i++) {
                next_numbers(&state, values, matrices[i].rows * matrices[i].cols);
                tensor_write(dev, params_get(store, i)->g, values, DT_F32);
            }
            optimizer_step(opt, update, config.lr, 1, 1);
            if (update == 1 || update == 20)
                compare(store, file, arithmetic, scales[scale], update, tolerance);
        }
        optimizer_close(opt);
        params_close(store);
    }
    device_close(dev);
}

static void is_torch_in_f32(void)
{
    check_torch(device_open_cpu(2, precision_uniform(DT_F32)), "exact", 2e-6);
}

/* Where both round in other places, bf16 differs by as much as it differs from exact numbers. */
static void is_torch_in_bf16(void)
{
    Precision precision = precision_uniform(DT_F32);
    precision.compute = DT_BF16;
    check_torch(device_open_cpu(2, precision), "bf16", 3e-3);
}

/* A parameter of each kind. */
static const ParamSpec kinds[] = {
    { "table", 0, FIELD(0), -1, 9, 4, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 1, true, false, PARAM_EMBEDDING, 1, 1 },
    { "head", 1, FIELD(1), -1, 5, 4, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 1, true, false, PARAM_HEAD, 1, 1 },
    { "norm", 2, FIELD(2), -1, 4, 0, SPLIT_NONE, TIE_NONE, INIT_CONSTANT, 1, false, false, PARAM_VECTOR, 1, 1 },
    { "q", 2, FIELD(3), -1, 4, 4, SPLIT_NONE, TIE_NONE, INIT_NORMAL, 1, true, false, PARAM_MATRIX, 1, 1 },
};
enum { N_KINDS = G_N_ELEMENTS(kinds), Q = 3 };

typedef struct Trained {
    Device *dev;
    ParamStore *store;
    Optimizer *opt;
} Trained;

static Trained trained_open(OptimKind kind, double gradient)
{
    Trained t = { .dev = device_open_cpu(1, precision_uniform(DT_F32)) };
    OptimConfig config = optim_defaults(kind);
    config.weight_decay = 0.1;
    config.decay = DECAY_ALL;
    config.matrix_lr = 0.5;
    t.store = params_open(t.dev, kinds, N_KINDS, NULL, true);
    t.opt = optimizer_open(t.store, &config, NULL);
    params_init(t.store, 3);
    for (int update = 1; update <= 3; update++) {
        for (int i = 0; i < N_KINDS; i++)
            op_fill(t.dev, params_get(t.store, i)->g, gradient * update);
        optimizer_step(t.opt, update, 1e-2, 1, 1);
    }
    return t;
}

static void trained_close(Trained *t)
{
    optimizer_close(t->opt);
    params_close(t->store);
    device_close(t->dev);
}

static void all_but_matrices_are_of_adamw(void)
{
    static const char *const names[] = { "table/m", "table/v", "head/m", "head/v", "norm/m", "norm/v", "q/m" };
    Trained muon = trained_open(OPTIM_MUON, 0.25), adamw = trained_open(OPTIM_ADAMW, 0.25);
    g_assert_cmpint(optimizer_state_count(muon.opt), ==, G_N_ELEMENTS(names));
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        g_assert_cmpstr(optimizer_state(muon.opt, (int)i).name, ==, names[i]);
    for (int i = 0; i < N_KINDS; i++) {
        float x[64], y[64];
        params_read(muon.store, i, NULL, DT_F32, x);
        params_read(adamw.store, i, NULL, DT_F32, y);
        const size_t bytes = (size_t)(kinds[i].rows * MAX(kinds[i].cols, 1)) * sizeof *x;
        g_assert_cmpint(memcmp(x, y, bytes) == 0, ==, i != Q);
    }
    trained_close(&muon);
    trained_close(&adamw);
}

/* Without a gradient a matrix only decays. */
static void a_matrix_without_gradient_decays(void)
{
    Trained trained = trained_open(OPTIM_MUON, 0);
    ParamStore *start = params_open(trained.dev, kinds, N_KINDS, NULL, false);
    float x[16], y[16];
    params_init(start, 3);
    params_read(start, Q, NULL, DT_F32, x);
    params_read(trained.store, Q, NULL, DT_F32, y);
    for (int i = 0; i < 16; i++)
        g_assert_cmpfloat_with_epsilon((double)y[i], (double)x[i] * pow(1 - 0.5 * 1e-2 * 0.1, 3), 1e-6);
    params_close(start);
    trained_close(&trained);
}

/* ---- ranks ---- */

enum { BLOCKS = 12, BLOCK_PARAMS = 8 };

/* A table outside the blocks, and blocks of the matrices of a GPT. */
static ParamSpec *model_specs(void)
{
    static const int64_t shapes[BLOCK_PARAMS][2] = { { 16, 0 },  { 16, 16 }, { 16, 16 }, { 16, 16 },
                                                     { 16, 16 }, { 16, 0 },  { 64, 16 }, { 16, 64 } };
    ParamSpec *specs = g_new0(ParamSpec, 1 + BLOCKS * BLOCK_PARAMS);
    specs[0] = kinds[0];
    for (int i = 1; i <= BLOCKS * BLOCK_PARAMS; i++) {
        const int p = (i - 1) % BLOCK_PARAMS;
        specs[i] = (ParamSpec){ .bucket = 1 + (i - 1) / BLOCK_PARAMS,
                                .field = FIELD(p),
                                .group = -1,
                                .rows = shapes[p][0],
                                .cols = shapes[p][1] };
        g_snprintf(specs[i].name, sizeof specs[i].name, "%d", i);
    }
    return specs;
}

static void ranks_own_whole_matrices(void)
{
    enum { N = 1 + BLOCKS * BLOCK_PARAMS, BLOCK = 12 * 256 + 32, LARGEST = 64 * 16, RANKS = 16 };
    g_autofree ParamSpec *specs = model_specs();
    const OptimConfig config = optim_defaults(OPTIM_MUON);
    Device *null = device_open_null();
    for (int ranks = 2; ranks <= RANKS; ranks++) {
        int owners[N] = { 0 };
        for (int rank = 0; rank < ranks; rank++) {
            Sharding shards = { .rank = rank, .size = ranks, .level = ZERO_WEIGHTS, .first_block = 1 };
            int64_t owned = 0;
            optimizer_units(&config, shards.units);
            ParamStore *store = params_open_sharded(null, specs, N, NULL, true, &shards);
            Optimizer *opt = optimizer_open(store, &config, NULL);
            for (int i = 1; i < N; i++) {
                const Box part = params_part(store, i);
                g_assert_true(part.shape[0] == 0 || part.shape[0] == specs[i].rows);
                owners[i] += part.shape[0] > 0;
                owned += part.shape[0] * MAX(specs[i].cols, 1);
            }
            g_assert_cmpint(ABS(owned - BLOCKS * BLOCK / ranks), <=, LARGEST + 32);
            optimizer_close(opt);
            params_close(store);
        }
        for (int i = 1; i < N; i++)
            g_assert_cmpint(owners[i], ==, 1);
    }
    device_close(null);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/optim_muon/is_torch_in_f32", is_torch_in_f32);
    g_test_add_func("/optim_muon/is_torch_in_bf16", is_torch_in_bf16);
    g_test_add_func("/optim_muon/all_but_matrices_are_of_adamw", all_but_matrices_are_of_adamw);
    g_test_add_func("/optim_muon/a_matrix_without_gradient_decays", a_matrix_without_gradient_decays);
    g_test_add_func("/optim_muon/ranks_own_whole_matrices", ranks_own_whole_matrices);
    return g_test_run();
}
