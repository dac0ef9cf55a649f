/* The cpu's results are the same to the bit for the same number of threads, and, where sums belong to one thread each,
 * for any number. */
#include "adafactor.h"
#include "device/scalars.h"
#include "under_avx2.h"

#include <glib.h>

enum { N = 700, C = 192, HEADS = 3, V = 900, MEMORY = 32 << 20 };

typedef struct Rig {
    Device *dev;
    Arena arena;
    GChecksum *sum; /* of every output */
} Rig;

static Tensor matrix(Rig *r, int64_t rows, int64_t cols)
{
    Tensor t = arena_tensor(&r->arena, DT_F32, rows, cols, "test");
    Philox rng = philox_open(philox_key(3, PHILOX_SAMPLING, 0), r->arena.used);
    for (int64_t i = 0; i < tensor_count(t); i++)
        ((float *)t.p)[i] = (float)philox_u32(&rng) / 4294967296.0f - 0.5f;
    return t;
}

static Tensor vector(Rig *r, int64_t n)
{
    return tensor_vector(matrix(r, 1, n).p, DT_F32, n);
}

static Tensor ids(Rig *r, int64_t n, uint64_t bound)
{
    Tensor t = arena_vector(&r->arena, DT_I32, n, "ids");
    Philox rng = philox_open(philox_key(3, PHILOX_SAMPLING, 0), 0);
    for (int64_t i = 0; i < n; i++)
        ((int32_t *)t.p)[i] = (int32_t)philox_below(&rng, bound);
    return t;
}

static void output(Rig *r, Tensor t)
{
    g_checksum_update(r->sum, t.p, (gssize)((size_t)tensor_count(t) * dtype_bytes(t.dtype)));
}

static void embedding_bwd(Rig *r)
{
    Tensor dtable = matrix(r, V, C);
    op_scatter_add(r->dev, dtable, matrix(r, N, C), ids(r, N, 50), 1);
    output(r, dtable);
}

static void attention(Rig *r)
{
    static const int32_t cu_q[] = { 0, 200, 330, 600 }, cu_k[] = { 0, 300, 301, 700 };
    AttnSpec spec = { .cu_q = { cu_q, cu_q },
                      .cu_k = { cu_k, cu_k },
                      .n_seq = 3,
                      .max_q = 270,
                      .max_k = 399,
                      .heads = HEADS,
                      .scale = 0.125f };
    int64_t sample[N], width = spec.max_q + spec.max_k - 1;
    int32_t position[N];
    for (int32_t i = 0; i < N; i++)
        sample[i] = i / 100, position[i] = i % 100;
    Dropout drop = { philox_key(1, PHILOX_DROPOUT, 0), 0.1f, sample, position, 0 };
    Tensor q = matrix(r, N, C), k = matrix(r, N, C), v = matrix(r, N, C), o = matrix(r, N, C), dout = matrix(r, N, C);
    Tensor lse = matrix(r, HEADS, N), bias = matrix(r, HEADS, width), dbias = matrix(r, HEADS, width);
    Tensor dq = matrix(r, N, C), dk = matrix(r, N, C), dv = matrix(r, N, C);
    op_attn_fwd(r->dev, o, lse, q, k, v, bias, &spec, &drop);
    op_attn_bwd(r->dev, dq, dk, dv, dbias, 1, dout, o, lse, q, k, v, bias, &spec, &drop);
    const Tensor results[] = { o, lse, dq, dk, dv, dbias };
    for (size_t i = 0; i < G_N_ELEMENTS(results); i++)
        output(r, results[i]);
}

static void sum_rows(Rig *r)
{
    Tensor out = arena_vector(&r->arena, DT_F64, C, "out");
    op_sum_rows(r->dev, out, matrix(r, N, C), 0);
    output(r, out);
}

static void xent(Rig *r)
{
    XentSpec spec = { .label_smoothing = 0.1f, .z_loss = 1e-4f, .scale = 1, .grad = true };
    Tensor logits = matrix(r, N, V), stats = matrix(r, N, XENT_STATS);
    op_xent(r->dev, logits, stats, ids(r, N, V), vector(r, N), &spec);
    output(r, logits);
    output(r, stats);
}

static void products(Rig *r)
{
    Tensor y = matrix(r, N, V), dw = matrix(r, C, C);
    op_gemm(r->dev, y, matrix(r, N, C), matrix(r, V, C), false, true, 1, 0);
    op_gemm(r->dev, dw, matrix(r, N, C), matrix(r, N, C), true, false, 1, 1);
    output(r, y);
    output(r, dw);
}

static void rmsnorm_bwd(Rig *r)
{
    Tensor dx = matrix(r, N, C), dw = vector(r, C);
    op_norm_bwd(r->dev, dx, NO_TENSOR, dw, NO_TENSOR, matrix(r, N, C), matrix(r, N, C), vector(r, C), NO_TENSOR,
                vector(r, N), NO_TENSOR, 1, NULL);
    output(r, dx);
    output(r, dw);
}

static void sumsq(Rig *r)
{
    Tensor out = arena_vector(&r->arena, DT_F64, 1, "out");
    op_sumsq(r->dev, out, matrix(r, N, C), 0);
    output(r, out);
}

static void adafactor(Rig *r)
{
    AdafactorSpec spec = { .eps1 = 1e-30, .eps2 = 1e-3, .clip_threshold = 1, .scale_parameter = true, .rate = 1 };
    StepScalars scalars = scalars_of(3);
    Tensor w = matrix(r, N, C), row = vector(r, N), col = vector(r, C), g = matrix(r, N, C);
    Tensor sums = arena_vector(&r->arena, DT_F64, 3 + C, "sums");
    op_fill(r->dev, row, 1);
    op_fill(r->dev, col, 1);
    adafactor_update(r->dev, sums, w, NO_TENSOR, NO_TENSOR, row, col, NO_TENSOR, g, spec, &scalars);
    output(r, w);
    output(r, row);
    output(r, col);
}

static const struct {
    const char *path;
    void (*run)(Rig *r);
    bool any_threads;
} cases[] = {
    { "/cpu_threads/embedding_bwd_is_the_same_for_any_number", embedding_bwd, true },
    { "/cpu_threads/attention_is_the_same_for_any_number", attention, true },
    { "/cpu_threads/sum_rows_is_the_same_for_any_number", sum_rows, true },
    { "/cpu_threads/xent_is_the_same_for_any_number", xent, true },
    { "/cpu_threads/products_repeat", products, false },
    { "/cpu_threads/rmsnorm_bwd_repeats", rmsnorm_bwd, false },
    { "/cpu_threads/sumsq_repeats", sumsq, false },
    { "/cpu_threads/adafactor_repeats", adafactor, false },
};

static char *result(size_t i, int threads)
{
    Rig r = { .dev = device_open_cpu(threads, precision_uniform(DT_F32)), .sum = g_checksum_new(G_CHECKSUM_SHA256) };
    void *memory = device_alloc(r.dev, MEMORY);
    arena_init(&r.arena, "test", memory, MEMORY);
    cases[i].run(&r);
    char *digest = g_strdup(g_checksum_get_string(r.sum));
    g_checksum_free(r.sum);
    device_free(r.dev, memory);
    device_close(r.dev);
    return digest;
}

static void same_to_the_bit(gconstpointer data)
{
    size_t i = GPOINTER_TO_SIZE(data);
    int least = cases[i].any_threads ? 1 : 3;
    g_autofree char *expected = result(i, 3);
    for (int threads = least; threads <= 3; threads++)
        for (int repeat = 0; repeat < 2; repeat++) {
            g_autofree char *digest = result(i, threads);
            g_assert_cmpstr(digest, ==, expected);
        }
}

/* Element (i, j) of op(t). */
static double at(Tensor t, bool transposed, int64_t i, int64_t j)
{
    return (double)((const float *)t.p)[transposed ? j * t.ld + i : i * t.ld + j];
}

/* Enough rows for each of three threads to compute its own, in views of wider tensors. */
static void shared_rows_make_one_product(void)
{
    enum { ROWS = 701, COLS = 45, INNER = 33 };
    Rig r = { .dev = device_open_cpu(3, precision_uniform(DT_F32)) };
    void *memory = device_alloc(r.dev, MEMORY);
    arena_init(&r.arena, "test", memory, MEMORY);
    for (int kind = 0; kind < 4; kind++) {
        bool ta = kind & 1, tb = kind & 2;
        Tensor y = tensor_slice_cols(matrix(&r, ROWS, COLS + 3), 2, COLS);
        Tensor a = tensor_slice_cols(matrix(&r, ta ? INNER : ROWS, (ta ? ROWS : INNER) + 5), 4, ta ? ROWS : INNER);
        Tensor b = tensor_slice_cols(matrix(&r, tb ? COLS : INNER, (tb ? INNER : COLS) + 1), 1, tb ? INNER : COLS);
        op_gemm(r.dev, y, a, b, ta, tb, 1, 0);
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t j = 0; j < COLS; j++) {
                double sum = 0;
                for (int64_t k = 0; k < INNER; k++)
                    sum += at(a, ta, i, k) * at(b, tb, k, j);
                g_assert_cmpfloat_with_epsilon(at(y, false, i, j), sum, 1e-5);
            }
    }
    device_free(r.dev, memory);
    device_close(r.dev);
}

/* Denormal numbers are slow; what reads or makes one finds zero, on every thread and within oneDNN. */
static void denormals_are_zero_on_every_thread(void)
{
    enum { ROWS = 600, COLS = 64 };
    const float denormal = 1e-40f, small = 1e-30f;
    for (int threads = 1; threads <= 3; threads++) {
        Rig r = { .dev = device_open_cpu(threads, precision_uniform(DT_F32)) };
        void *memory = device_alloc(r.dev, MEMORY);
        arena_init(&r.arena, "test", memory, MEMORY);
        Tensor x = matrix(&r, ROWS, COLS), w = matrix(&r, COLS, COLS), y = matrix(&r, ROWS, COLS);
        Tensor scaled = matrix(&r, ROWS, COLS);
        for (int64_t i = 0; i < tensor_count(x); i++)
            ((float *)x.p)[i] = denormal;
        op_fill(r.dev, w, 1e30f);
        op_scale(r.dev, scaled, x, 1e30f);
        op_gemm(r.dev, y, x, w, false, false, 1e8f, 0); /* denormal * 1e30 would be 1e-10 */
        for (int64_t i = 0; i < tensor_count(y); i++)
            g_assert_true(((float *)y.p)[i] == 0 && ((float *)scaled.p)[i] == 0);
        op_fill(r.dev, x, small);
        op_fill(r.dev, w, 1e-10f);
        op_gemm(r.dev, y, x, w, false, false, 1, 0); /* a product below the smallest normal number */
        for (int64_t i = 0; i < tensor_count(y); i++)
            g_assert_true(((float *)y.p)[i] == 0);
        device_free(r.dev, memory);
        device_close(r.dev);
    }
}

/* Kernels of AVX2 beside products of AVX-512 would prove nothing of a processor with AVX2 alone. */
static void kernels_and_products_share_an_instruction_set(void)
{
    if (g_test_subprocess()) {
        shared_rows_make_one_product();
        g_setenv("LOAM_CPU_ISA", "avx2", true);
        device_open_cpu(1, precision_uniform(DT_F32));
        return;
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*oneDNN was in use before this device opened*");
}

/* By one thread and by several, in f32 and bf16: no sequence covers a row, so all rows are zeros. */
static void attention_of_no_sequences_is_zero(void)
{
    enum { ROWS = 2, SIZE = 8 };
    for (int code = 0; code < 4; code++) {
        DType dtype = code & 1 ? DT_BF16 : DT_F32;
        const Precision precision = {
            .compute = dtype, .residual = DT_F32, .grad = DT_F32, .master = DT_F32, .state = DT_F32
        };
        Device *cpu = device_open_cpu(code & 2 ? 3 : 1, precision);
        int32_t cu[1] = { 0 };
        const AttnSpec spec = {
            .max_q = 1, .max_k = 1, .cu_q = { cu, cu }, .cu_k = { cu, cu }, .heads = 1, .scale = 1
        };
        const Dropout none = { 0 };
        float numbers[4][ROWS * SIZE], lse[ROWS], zeros[ROWS * SIZE] = { 0 };
        memset(numbers, 0x3f, sizeof numbers);
        Tensor t[4];
        for (int i = 0; i < 4; i++)
            t[i] = tensor_matrix(numbers[i], dtype, ROWS, SIZE);
        op_attn_fwd(cpu, t[0], tensor_matrix(lse, DT_F32, 1, ROWS), t[1], t[2], t[3], NO_TENSOR, &spec, &none);
        g_assert_true(memcmp(numbers[0], zeros, ROWS * SIZE * dtype_bytes(dtype)) == 0);
        device_close(cpu);
    }
}

/* Activations that grow like x: the slope is 1 above, 0 below, also where x² is no f32. */
static void activations_of_huge_numbers_have_a_slope(void)
{
    static const Activation acts[] = { ACT_GELU_TANH, ACT_GELU_ERF, ACT_SILU, ACT_RELU };
    static float x[] = { 30, 1e4f, 1e20f, 1e30f, -30, -1e4f, -1e20f, -1e30f };
    enum { COUNT = G_N_ELEMENTS(x) };
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    float ones[COUNT], slope[COUNT];
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    for (size_t act = 0; act < G_N_ELEMENTS(acts); act++) {
        op_act_bwd(dev, tensor_matrix(slope, DT_F32, 1, COUNT), NO_TENSOR, tensor_matrix(ones, DT_F32, 1, COUNT),
                   tensor_matrix(x, DT_F32, 1, COUNT), NO_TENSOR, acts[act], &(Dropout){ .rate = 0 });
        for (int i = 0; i < COUNT; i++)
            g_assert_cmpfloat_with_epsilon(slope[i], x[i] > 0, 1e-6);
    }
    device_close(dev);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
        g_test_add_data_func(cases[i].path, GSIZE_TO_POINTER(i), same_to_the_bit);
    g_test_add_func("/cpu_threads/shared_rows_make_one_product", shared_rows_make_one_product);
    g_test_add_func("/cpu_threads/denormals_are_zero_on_every_thread", denormals_are_zero_on_every_thread);
    if (!under_avx2()) /* else there is one instruction set alone */
        g_test_add_func("/cpu_threads/kernels_and_products_share_an_instruction_set",
                        kernels_and_products_share_an_instruction_set);
    g_test_add_func("/cpu_threads/attention_of_no_sequences_is_zero", attention_of_no_sequences_is_zero);
    g_test_add_func("/cpu_threads/activations_of_huge_numbers_have_a_slope", activations_of_huge_numbers_have_a_slope);
    return g_test_run();
}
