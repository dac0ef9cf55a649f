/* ops.c: measures the speed of each operation at the shapes of a T5-1.1-small step with 8 samples of 512 encoder tokens
 * and 114 decoder tokens. */
#include "base/clock.h"
#include "cli/bench/bench.h"
#include "cli/cli.h"
#include "device/profile.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define USAGE        "loam bench ops [--threads N] [--seconds S] [--json]"
#define PEAK_SECONDS 1.0

static const char about[] =
    "Times every operation at the shapes of a T5-1.1-small training step, beside this machine's matrix-product peak "
    "and\n"
    "its speed of copying memory, measured in the same run. GFLOP/s count multiply-adds of matrix products and\n"
    "attention, GB/s every operand once.\n\n"
    "  loam bench ops\n";

static int threads;
static double seconds = 0.3;
static gboolean as_json;
static const GOptionEntry entries[] = {
    CLI_VALUE("threads", threads, "threads (default: OMP_NUM_THREADS or every core)", "N"),
    CLI_VALUE("seconds", seconds, "how long to measure each (default 0.3)", "S"),
    CLI_SWITCH("json", as_json, "one JSON object"),
    { 0 },
};

enum {
    SAMPLES = 8,
    TQ = 114,
    TK = 512,
    N = SAMPLES * TK, /* encoder tokens */
    C = 512,
    HEADS = 6,
    A = HEADS * 64,
    F = 1024,
    V = 32128,
    CHUNK = 512, /* tokens whose logits are computed at a time */
};

/* The sizes and settings of a row of cases[]; an operation reads those that it has. */
typedef struct Setup {
    float dropout;                    /* rate */
    int64_t product[3];               /* m, n, k: a (m, k) times b (k, n) */
    bool a_transposed, b_transposed;  /* a is stored as (k, m), b as (n, k) */
    int32_t tq, tk;                   /* queries and keys of a sequence */
    bool causal, biased, is_backward; /* of attention */
} Setup;

/* One operation on one device: the null device counts bytes and FLOPs, the cpu is timed. */
typedef struct Rig {
    Setup setup;
    Device *dev;
    Arena arena;
    double end, start; /* seconds of clock.h; start 0 means not running yet */
    double best_s;
} Rig;

/* The loop around an operation: once on the null device; on the cpu until the time is up, keeping the shortest run. */
static bool again(Rig *r)
{
    device_synchronise(r->dev);
    double now = clock_seconds();
    bool runs = r->start > 0;
    if (runs)
        r->best_s = fmin(r->best_s, now - r->start);
    else
        r->end = now + seconds;
    if (runs && (!r->dev->computes || now >= r->end))
        return false;
    r->start = clock_seconds();
    return true;
}

static Tensor filled(Rig *r, Tensor t, bool random)
{
    Philox rng = philox_open(philox_key(1, PHILOX_SAMPLING, 0), 0);
    int64_t n = r->dev->computes ? tensor_count(t) : 0;
    g_autofree float *x = g_new(float, n);
    for (int64_t i = 0; i < n; i++)
        x[i] = random ? (float)philox_u32(&rng) / 4294967296.0f - 0.5f : 1.0f;
    if (n > 0)
        tensor_upload(r->dev, t, x);
    return t;
}

static Tensor matrix(Rig *r, int64_t rows, int64_t cols)
{
    return filled(r, arena_tensor(&r->arena, DT_F32, rows, cols, "matrix"), true);
}

static Tensor vector(Rig *r, int64_t n)
{
    return filled(r, arena_vector(&r->arena, DT_F32, n, "vector"), false);
}

static Tensor ids_below(Rig *r, int64_t n, uint64_t bound)
{
    Tensor ids = arena_vector(&r->arena, DT_I32, n, "ids");
    Philox rng = philox_open(philox_key(1, PHILOX_SAMPLING, 0), 0);
    g_autofree int32_t *values = g_new(int32_t, n);
    for (int64_t i = 0; i < n; i++)
        values[i] = (int32_t)philox_below(&rng, bound);
    tensor_upload(r->dev, ids, values);
    return ids;
}

static Dropout dropout(Rig *r)
{
    static int64_t samples[N];
    static int32_t positions[N];
    Tensor sample = arena_vector(&r->arena, DT_I64, N, "sample"),
           position = arena_vector(&r->arena, DT_I32, N, "position");
    for (int32_t i = 0; i < N; i++) {
        samples[i] = i / TK;
        positions[i] = i % TK;
    }
    tensor_upload(r->dev, sample, samples);
    tensor_upload(r->dev, position, positions);
    return (Dropout){
        .key = philox_key(1, PHILOX_DROPOUT, 0), .rate = r->setup.dropout, .sample = sample.p, .position = position.p
    };
}

static void gemm(Rig *r)
{
    bool ta = r->setup.a_transposed, tb = r->setup.b_transposed;
    int64_t m = r->setup.product[0], n = r->setup.product[1], k = r->setup.product[2];
    Tensor y = matrix(r, m, n), a = ta ? matrix(r, k, m) : matrix(r, m, k), b = tb ? matrix(r, n, k) : matrix(r, k, n);
    while (again(r))
        op_gemm(r->dev, y, a, b, ta, tb, 1, 0);
}

static AttnSpec attention_spec(Rig *r)
{
    static int32_t cu_q[SAMPLES + 1], cu_k[SAMPLES + 1];
    for (int32_t s = 0; s <= SAMPLES; s++) {
        cu_q[s] = s * r->setup.tq;
        cu_k[s] = s * r->setup.tk;
    }
    Tensor device_q = arena_vector(&r->arena, DT_I32, SAMPLES + 1, "cu_q");
    Tensor device_k = arena_vector(&r->arena, DT_I32, SAMPLES + 1, "cu_k");
    tensor_upload(r->dev, device_q, cu_q);
    tensor_upload(r->dev, device_k, cu_k);
    return (AttnSpec){ .cu_q = { cu_q, device_q.p },
                       .cu_k = { cu_k, device_k.p },
                       .n_seq = SAMPLES,
                       .max_q = r->setup.tq,
                       .max_k = r->setup.tk,
                       .heads = HEADS,
                       .causal = r->setup.causal,
                       .scale = 1 };
}

static void attention(Rig *r)
{
    AttnSpec spec = attention_spec(r);
    Dropout drop = dropout(r);
    int64_t nq = SAMPLES * spec.max_q, nk = SAMPLES * spec.max_k, n_bias = spec.max_q + spec.max_k - 1;
    Tensor q = matrix(r, nq, A), k = matrix(r, nk, A), v = matrix(r, nk, A), o = matrix(r, nq, A);
    Tensor lse = matrix(r, HEADS, nq), bias = r->setup.biased ? matrix(r, HEADS, n_bias) : NO_TENSOR;
    Tensor dq = matrix(r, nq, A), dk = matrix(r, nk, A), dv = matrix(r, nk, A), dout = matrix(r, nq, A);
    Tensor dbias = r->setup.biased ? matrix(r, HEADS, n_bias) : NO_TENSOR;
    if (r->setup.is_backward && r->dev->computes)
        op_attn_fwd(r->dev, o, lse, q, k, v, bias, &spec, &drop);
    while (again(r))
        if (r->setup.is_backward)
            op_attn_bwd(r->dev, dq, dk, dv, dbias, 0, dout, o, lse, q, k, v, bias, &spec, &drop);
        else
            op_attn_fwd(r->dev, o, lse, q, k, v, bias, &spec, &drop);
}

static void copy(Rig *r)
{
    Tensor y = matrix(r, V, C), x = matrix(r, V, C);
    while (again(r))
        op_copy(r->dev, y, x);
}

static void embedding(Rig *r)
{
    Tensor y = matrix(r, N, C), table = matrix(r, V, C), ids = ids_below(r, N, V);
    while (again(r))
        op_gather(r->dev, y, table, ids);
}

static void embedding_bwd(Rig *r)
{
    Tensor dy = matrix(r, N, C), dtable = matrix(r, V, C), ids = ids_below(r, N, V);
    while (again(r))
        op_scatter_add(r->dev, dtable, dy, ids, 0);
}

static void rmsnorm(Rig *r)
{
    Tensor y = matrix(r, N, C), x = matrix(r, N, C), w = vector(r, C), rstd = vector(r, N);
    while (again(r))
        op_rmsnorm_fwd(r->dev, y, rstd, x, w, 1e-6f);
}

static void rmsnorm_bwd(Rig *r)
{
    Tensor dx = matrix(r, N, C), dy = matrix(r, N, C), x = matrix(r, N, C), residual = matrix(r, N, C);
    Tensor w = vector(r, C), dw = vector(r, C), rstd = vector(r, N);
    while (again(r))
        op_rmsnorm_bwd(r->dev, dx, dw, dy, x, w, rstd, residual, 0);
}

static void residual(Rig *r)
{
    Dropout drop = dropout(r);
    Tensor y = matrix(r, N, C), x = matrix(r, N, C), add = matrix(r, N, C);
    while (again(r))
        op_dropout_fwd(r->dev, y, x, add, &drop);
}

static void gelu(Rig *r)
{
    Dropout drop = dropout(r);
    Tensor a = matrix(r, N, F), h = matrix(r, N, F), gate = matrix(r, N, F);
    while (again(r))
        op_act_fwd(r->dev, a, h, gate, ACT_GELU_TANH, &drop);
}

static void gelu_bwd(Rig *r)
{
    Dropout drop = dropout(r);
    Tensor dh = matrix(r, N, F), dgate = matrix(r, N, F), da = matrix(r, N, F), h = matrix(r, N, F);
    Tensor gate = matrix(r, N, F);
    while (again(r))
        op_act_bwd(r->dev, dh, dgate, da, h, gate, ACT_GELU_TANH, &drop);
}

static void xent(Rig *r)
{
    XentSpec spec = { .z_loss = 1e-4f, .scale = 1.0f / N, .grad = true };
    Tensor logits = matrix(r, CHUNK, V), stats = matrix(r, CHUNK, XENT_STATS), weights = vector(r, CHUNK);
    Tensor targets = ids_below(r, CHUNK, V);
    while (again(r))
        op_xent(r->dev, logits, stats, targets, weights, &spec);
}

static void sumsq(Rig *r)
{
    Tensor x = matrix(r, V, C), out = arena_vector(&r->arena, DT_F64, 1, "out");
    while (again(r))
        op_sumsq(r->dev, out, x, 0);
}

static StepScalars *step_scalars(Rig *r)
{
    const StepScalars values = { .lr = 1e-6f, .clip = 1, .update = 10 };
    StepScalars *scalars = arena_push(&r->arena, sizeof values, "scalars");
    device_upload(r->dev, scalars, &values, sizeof values);
    return scalars;
}

static void adamw(Rig *r)
{
    AdamwSpec spec = { .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8 };
    StepScalars *scalars = step_scalars(r);
    Tensor w = matrix(r, V, C), g = matrix(r, V, C), m = matrix(r, V, C);
    Tensor v = filled(r, arena_tensor(&r->arena, DT_F32, V, C, "v"), false);
    while (again(r))
        op_adamw(r->dev, w, m, v, g, NO_TENSOR, &spec, scalars);
}

static void adafactor(Rig *r)
{
    AdafactorSpec spec = { .eps1 = 1e-30,
                           .eps2 = 1e-3,
                           .clip_threshold = 1,
                           .decay_rate = 0.8,
                           .rows = V,
                           .cols = C,
                           .scale_parameter = true };
    StepScalars *scalars = step_scalars(r);
    Tensor w = matrix(r, V, C), g = matrix(r, V, C), row = vector(r, V), col = vector(r, C);
    Tensor squares = arena_vector(&r->arena, DT_F64, 1, "squares"), size = arena_vector(&r->arena, DT_F64, 1, "size");
    Tensor row_sum = arena_vector(&r->arena, DT_F64, 1, "row_sum"),
           col_sums = arena_vector(&r->arena, DT_F64, C, "col_sums");
    op_fill(r->dev, size, 0);
    op_fill(r->dev, col_sums, 0);
    while (again(r)) {
        op_sumsq(r->dev, squares, w, 0);
        op_fill(r->dev, row_sum, 0);
        op_adafactor_moments(r->dev, row, col_sums, row_sum, NO_TENSOR, g, &spec, scalars);
        op_adafactor_columns(r->dev, col, col_sums, &spec, scalars);
        op_adafactor_size(r->dev, size, row, col, row_sum, NO_TENSOR, g, &spec, scalars);
        op_adafactor(r->dev, w, NO_TENSOR, row, col, row_sum, NO_TENSOR, g, squares, size, &spec, scalars);
    }
}

#define PLAIN   .dropout = 0
#define ENCODER .tq = TK, .tk = TK, .biased = true
#define DECODER .tq = TQ, .tk = TQ, .biased = true, .causal = true
#define CROSS   .tq = TQ, .tk = TK
static const struct {
    const char *name, *shape;
    void (*run)(Rig *r);
    Setup setup;
} cases[] = {
    { "gemm q", "4096 x 384 x 512", gemm, { .product = { N, A, C }, .b_transposed = true } },
    { "gemm q, dx", "4096 x 512 x 384", gemm, { .product = { N, C, A } } },
    { "gemm q, dw", "384 x 512 x 4096", gemm, { .product = { A, C, N }, .a_transposed = true } },
    { "gemm ffn", "4096 x 1024 x 512", gemm, { .product = { N, F, C }, .b_transposed = true } },
    { "gemm ffn, dx", "4096 x 512 x 1024", gemm, { .product = { N, C, F } } },
    { "gemm ffn, dw", "1024 x 512 x 4096", gemm, { .product = { F, C, N }, .a_transposed = true } },
    { "gemm q, decoder", "912 x 384 x 512", gemm, { .product = { SAMPLES * TQ, A, C }, .b_transposed = true } },
    { "gemm logits", "512 x 32128 x 512", gemm, { .product = { CHUNK, V, C }, .b_transposed = true } },
    { "gemm logits, dx", "512 x 512 x 32128", gemm, { .product = { CHUNK, C, V } } },
    { "gemm logits, dw", "32128 x 512 x 512", gemm, { .product = { V, C, CHUNK }, .a_transposed = true } },
    { "attention", "encoder, 512 x 512", attention, { ENCODER } },
    { "attention bwd", "encoder, 512 x 512", attention, { ENCODER, .is_backward = true } },
    { "attention, dropout", "encoder, 512 x 512", attention, { ENCODER, .dropout = 0.1f } },
    { "attention bwd, dropout", "encoder, 512 x 512", attention, { ENCODER, .dropout = 0.1f, .is_backward = true } },
    { "attention", "decoder, 114 x 114", attention, { DECODER } },
    { "attention bwd", "decoder, 114 x 114", attention, { DECODER, .is_backward = true } },
    { "attention", "cross, 114 x 512", attention, { CROSS } },
    { "attention bwd", "cross, 114 x 512", attention, { CROSS, .is_backward = true } },
    { "copy", "32128 x 512", copy, { PLAIN } },
    { "embedding", "4096 x 512", embedding, { PLAIN } },
    { "embedding bwd", "4096 x 512", embedding_bwd, { PLAIN } },
    { "rmsnorm", "4096 x 512", rmsnorm, { PLAIN } },
    { "rmsnorm bwd", "4096 x 512", rmsnorm_bwd, { PLAIN } },
    { "residual", "4096 x 512", residual, { PLAIN } },
    { "residual, dropout", "4096 x 512", residual, { .dropout = 0.1f } },
    { "gated gelu", "4096 x 1024", gelu, { PLAIN } },
    { "gated gelu bwd", "4096 x 1024", gelu_bwd, { PLAIN } },
    { "gated gelu bwd, dropout", "4096 x 1024", gelu_bwd, { .dropout = 0.1f } },
    { "cross-entropy", "512 x 32128", xent, { PLAIN } },
    { "sum of squares", "32128 x 512", sumsq, { PLAIN } },
    { "adamw", "32128 x 512", adamw, { PLAIN } },
    { "adafactor", "32128 x 512", adafactor, { PLAIN } },
};

typedef struct OpResult {
    double seconds, flops, bytes;
} OpResult;

static bool measure(Device *cpu, Device *null, size_t i, OpResult *result, GError **error)
{
    Rig counted = { .setup = cases[i].setup, .dev = null };
    Rig timed = { .setup = cases[i].setup, .dev = cpu, .best_s = INFINITY };
    null->counts = (DeviceCounts){ 0 };
    arena_init(&counted.arena, "bench", NULL, 0);
    cases[i].run(&counted);
    void *memory = device_alloc(cpu, counted.arena.peak);
    if (memory == NULL)
        return fail_machine(error, "%s: no memory for %zu bytes", cases[i].name, counted.arena.peak);
    arena_init(&timed.arena, "bench", memory, counted.arena.peak);
    cases[i].run(&timed);
    device_free(cpu, memory);
    *result = (OpResult){ timed.best_s, null->counts.flops, null->counts.bytes };
    return true;
}

static json_t *json_of(size_t i, OpResult result)
{
    return json_pack("{s:s, s:s, s:o, s:o, s:o}", "op", cases[i].name, "shape", cases[i].shape, "seconds",
                     json_finite(result.seconds), "flops_per_s", json_finite(result.flops / result.seconds),
                     "bytes_per_s", json_finite(result.bytes / result.seconds));
}

static void print_line(size_t i, OpResult result, double peak)
{
    printf("%-24s %-20s %9.3f ms", cases[i].name, cases[i].shape, result.seconds * 1e3);
    if (result.flops > 0)
        printf(" %8.1f GFLOP/s %5.1f %% of peak\n", result.flops / result.seconds / 1e9,
               100 * result.flops / result.seconds / peak);
    else
        printf(" %8.1f GB/s\n", result.bytes / result.seconds / 1e9);
}

static bool measure_all(Device *cpu, Device *null, GError **error)
{
    double peak = device_gemm_peak(cpu, PEAK_SECONDS);
    json_t *list = json_array();
    bool done = true;
    if (!as_json)
        printf("%d threads, %s: matrix-product peak %.0f GFLOP/s\n", cpu->threads, cpu->isa, peak / 1e9);
    for (size_t i = 0; done && i < G_N_ELEMENTS(cases); i++) {
        OpResult result = { 0 };
        done = measure(cpu, null, i, &result, error);
        if (done && as_json)
            json_array_append_new(list, json_of(i, result));
        else if (done)
            print_line(i, result, peak);
    }
    json_t *object = json_pack("{s:s, s:i, s:o, s:o}", "isa", cpu->isa, "threads", cpu->threads, "peak_flops_per_s",
                               json_finite(peak), "ops", list);
    if (done && as_json)
        return print_json_line(object, error);
    json_decref(object);
    return done;
}

bool bench_ops(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc > 1)
        return fail_user(error, "unexpected argument %s; usage: " USAGE, argv[1]);
    if (threads < 0 || !(seconds > 0))
        return fail_user(error, "--threads must be at least 0, --seconds more than 0");
    Device *cpu = device_open_cpu(threads), *null = device_open_null();
    bool done = measure_all(cpu, null, error);
    device_close(null);
    device_close(cpu);
    return done;
}
