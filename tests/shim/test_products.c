/* test_products.c: products by cuBLASLt (device/cuda/native/products.cu), and what is said when the GPU fails, on a
 * fake of both (cuda/). */
#include "base/float16.h"
#include "shim/native.h"

#include <math.h>
#include <string.h>

enum { ROWS = 4, COLS = 16, DEPTH = 16 };

static Tensor new_matrix(Device *dev, DType dtype, int64_t rows, int64_t cols)
{
    Tensor t = tensor_matrix(device_alloc(dev, (size_t)(rows * cols) * dtype_bytes(dtype)), dtype, rows, cols);
    op_fill(dev, t, 1);
    return t;
}

/* Numbers of whole 16 bytes further on in the same memory. */
static Tensor shifted(Tensor t, int64_t numbers)
{
    t.p = (char *)t.p + (size_t)numbers * dtype_bytes(t.dtype);
    return t;
}

/* Views that begin at other multiples of 16 bytes share the choice of an algorithm; less aligned ones have their own.
 */
static void shifted_views_share_a_plan(void)
{
    Device *dev = open_gpu_of(0, FAKE_LATE, in_bf16());
    Tensor y = new_matrix(dev, DT_BF16, ROWS, COLS), x = new_matrix(dev, DT_BF16, 2 * ROWS, DEPTH),
           w = new_matrix(dev, DT_BF16, COLS, DEPTH);
    long before = fake_cuda_counts().choices;
    for (int i = 0; i < ROWS; i++) {
        Tensor view = shifted(x, i * DEPTH);
        view.d[0] = ROWS;
        op_linear(dev, y, view, w, NO_TENSOR, 1);
    }
    Tensor view = shifted(x, 8);
    view.d[0] = ROWS;
    op_linear(dev, y, view, w, NO_TENSOR, 1);
    g_assert_cmpint(fake_cuda_counts().choices, ==, before + 1);
    view = shifted(x, 1);
    view.d[0] = ROWS;
    op_linear(dev, y, view, w, NO_TENSOR, 1);
    g_assert_cmpint(fake_cuda_counts().choices, ==, before + 2);
    for (Tensor *t = (Tensor[]){ y, x, w }, *end = t + 3; t < end; t++)
        device_free(dev, t->p);
    device_close(dev);
}

/* cuBLASLt reads a bias from multiples of 16 bytes. */
static void a_bias_may_lie_anywhere(void)
{
    Device *dev = open_gpu_of(0, FAKE_LATE, in_bf16());
    Tensor y = new_matrix(dev, DT_BF16, ROWS, COLS), x = new_matrix(dev, DT_BF16, ROWS, DEPTH),
           w = new_matrix(dev, DT_BF16, COLS, DEPTH), b = new_matrix(dev, DT_BF16, 1, COLS + 8);
    uint16_t there[COLS + 8], seen[ROWS * COLS];
    for (int i = 0; i < COLS + 8; i++)
        there[i] = bf16_from_f32((float)i);
    device_upload(dev, b.p, there, sizeof there);
    for (int shift = 0; shift <= 8; shift++) {
        op_linear(dev, y, x, w, tensor_vector(shifted(b, shift).p, DT_BF16, COLS), 1);
        device_download(dev, seen, y.p, sizeof seen);
        device_synchronise(dev);
        for (int i = 0; i < ROWS * COLS; i++)
            g_assert_cmpfloat(bf16_to_f32(seen[i]), ==, (float)(DEPTH + shift + i % COLS));
    }
    for (Tensor *t = (Tensor[]){ y, x, w, b }, *end = t + 4; t < end; t++)
        device_free(dev, t->p);
    device_close(dev);
}

/* Sums of E4M3 × E4M3 may be short, as in Transformer Engine: activations and weights. Those of gradients may not. */
static void only_forward_products_of_fp8_are_fast(void)
{
    static const struct {
        DType a, b;
        bool fast;
    } cases[] = { { DT_E4M3, DT_E4M3, true }, { DT_E5M2, DT_E4M3, false }, { DT_E4M3, DT_E5M2, false } };
    Device *dev = open_gpu_of(0, FAKE_LATE, in_bf16());
    Tensor y = new_matrix(dev, DT_BF16, ROWS, COLS), x = new_matrix(dev, DT_BF16, ROWS, DEPTH),
           w = new_matrix(dev, DT_BF16, COLS, DEPTH), one = new_matrix(dev, DT_F32, 1, 1);
    one = tensor_vector(one.p, DT_F32, 1);
    long before = fake_cuda_counts().fast;
    op_linear(dev, y, x, w, NO_TENSOR, 1);
    g_assert_cmpint(fake_cuda_counts().fast, ==, before);
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Tensor a = tensor_matrix(x.p, cases[i].a, ROWS, DEPTH), b = tensor_matrix(w.p, cases[i].b, COLS, DEPTH);
        before = fake_cuda_counts().fast;
        op_fp8_linear(dev, y, a, b, NO_TENSOR, one, one, 0);
        g_assert_cmpint(fake_cuda_counts().fast, ==, before + cases[i].fast);
    }
    for (Tensor *t = (Tensor[]){ y, x, w, one }, *end = t + 4; t < end; t++)
        device_free(dev, t->p);
    device_close(dev);
}

/* 2 samples of 114 tokens are 228 rows, no multiple of 16, which cuBLASLt refuses for FP8; the last rows are right, and
 * nothing behind them is written. */
static void products_of_fp8_have_any_number_of_rows(void)
{
    static const int64_t rows[] = { 1, 15, 16, 17, 228 };
    enum { MOST = 228, GUARD = 16 };
    Precision precision = in_bf16();
    precision.grad = DT_F32;
    Device *dev = open_gpu_of(0, FAKE_LATE, precision);
    Tensor y = new_matrix(dev, DT_F32, MOST + GUARD, COLS), x = new_matrix(dev, DT_BF16, MOST, DEPTH),
           w = new_matrix(dev, DT_BF16, COLS, DEPTH), one = new_matrix(dev, DT_F32, 1, 1),
           b = new_matrix(dev, DT_F32, 1, COLS + 1);
    Tensor a8 = new_matrix(dev, DT_BF16, MOST, DEPTH), b8 = new_matrix(dev, DT_BF16, COLS, DEPTH);
    Tensor bias = tensor_vector((char *)b.p + sizeof(float), DT_F32, COLS);
    float *numbers = g_new(float, (MOST + GUARD) * COLS);
    one = tensor_vector(one.p, DT_F32, 1);
    uint16_t *there = g_new(uint16_t, MOST * DEPTH);
    for (int i = 0; i < MOST * DEPTH; i++)
        there[i] = bf16_from_f32((float)(i / DEPTH % 8));
    device_upload(dev, x.p, there, sizeof *there * MOST * DEPTH);
    a8.dtype = b8.dtype = DT_E4M3;
    op_fp8_cast(dev, a8, NO_TENSOR, NO_TENSOR, x, one, false);
    op_fp8_cast(dev, b8, NO_TENSOR, NO_TENSOR, w, one, false);
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        for (int beta = 0; beta < 2; beta++) {
            op_fill(dev, y, 3);
            op_fp8_linear(dev, tensor_slice_rows(y, 0, rows[i]), tensor_slice_rows(a8, 0, rows[i]), b8,
                          beta ? NO_TENSOR : bias, one, one, (float)beta);
            device_download(dev, numbers, y.p, sizeof *numbers * (MOST + GUARD) * COLS);
            device_synchronise(dev);
            for (int64_t j = 0; j < (MOST + GUARD) * COLS; j++)
                g_assert_cmpfloat(numbers[j], ==,
                                  j / COLS >= rows[i] ? 3 : (float)(DEPTH * (j / COLS % 8) + (beta ? 3 : 1)));
        }
    for (Tensor *t = (Tensor[]){ y, x, w, one, b, a8, b8 }, *end = t + 7; t < end; t++)
        device_free(dev, t->p);
    g_free(there);
    g_free(numbers);
    device_close(dev);
}

/* ---- dimensions that the fast algorithms exclude ---- */

/* A matrix whose rows are `ld` numbers apart. Its numbers, and those behind its rows, are sixteenths of whole numbers
 * from -4 to 4, so that every sum of products is exact. */
static Tensor new_padded(Device *dev, DType dtype, int64_t rows, int64_t cols, int64_t ld, uint32_t seed)
{
    Tensor all = new_matrix(dev, dtype, rows, ld);
    g_autofree float *numbers = g_new(float, rows *ld);
    g_autofree uint16_t *rounded = g_new(uint16_t, rows * ld);
    for (int64_t i = 0; i < rows * ld; i++) {
        seed = seed * 1664525 + 1013904223;
        numbers[i] = (float)((int32_t)(seed >> 24) % 9 - 4) / 16;
        rounded[i] = bf16_from_f32(numbers[i]);
    }
    device_upload(dev, all.p, dtype == DT_F32 ? (void *)numbers : rounded, (size_t)(rows * ld) * dtype_bytes(dtype));
    return tensor_slice_cols(all, 0, cols);
}

static float *padded_numbers(Device *dev, Tensor t)
{
    const size_t n = (size_t)(t.d[0] * t.ld);
    float *numbers = g_new(float, n);
    g_autofree uint16_t *rounded = g_new(uint16_t, n);
    device_download(dev, t.dtype == DT_F32 ? (void *)numbers : rounded, t.p, n * dtype_bytes(t.dtype));
    device_synchronise(dev);
    for (size_t i = 0; i < n && t.dtype != DT_F32; i++)
        numbers[i] = bf16_to_f32(rounded[i]);
    return numbers;
}

/* y (m,n) = op(a) op(b) + beta · y, in `products` products, of which those in slow forms have at most a tenth of the
 * multiply-adds; `pad` more numbers lie between the rows than a multiple of 8. */
typedef struct Split {
    const char *name;
    DType dtype, out;
    bool ta, tb, bias;
    float beta;
    int64_t m, n, k;
    int pad, products;
} Split;

static const Split splits[] = {
    { "logits", DT_BF16, DT_BF16, false, true, true, 0, 8, 1029, 16, 0, 2 },
    { "logits that are added to", DT_BF16, DT_BF16, false, true, false, 1, 8, 1029, 16, 8, 2 },
    { "f32 logits", DT_F32, DT_F32, false, true, true, 0, 8, 1030, 16, 0, 2 },
    { "gradient of weights", DT_BF16, DT_F32, true, false, false, 0, 1029, 16, 8, 0, 2 },
    { "gradient of weights, added to", DT_BF16, DT_F32, true, false, false, 1, 1029, 16, 8, 8, 2 },
    { "gradient of inputs", DT_BF16, DT_BF16, false, false, false, 0, 8, 16, 1029, 0, 2 },
    { "gradient of inputs, added to", DT_F32, DT_F32, false, false, false, 1, 8, 16, 1029, 0, 2 },
    { "rows and columns", DT_BF16, DT_F32, true, false, false, 1, 1029, 1029, 5, 0, 4 },
    { "depth of both operands", DT_BF16, DT_F32, false, true, true, 0, 8, 16, 1029, 0, 2 },
    { "whole dimensions", DT_BF16, DT_BF16, false, true, true, 0, 8, 1032, 16, 0, 1 },
    { "rows and depth that no row has", DT_BF16, DT_BF16, true, false, false, 0, 1032, 16, 1029, 0, 1 },
    { "rows that no row has", DT_BF16, DT_BF16, false, true, false, 0, 1029, 16, 16, 0, 1 },
};

static Tensor operand(Device *dev, DType dtype, int64_t rows, int64_t cols, int pad, uint32_t seed)
{
    return new_padded(dev, dtype, rows, cols, (cols + 7) / 8 * 8 + pad, seed);
}

static void check_split(const Split *c)
{
    Precision precision = c->dtype == DT_F32 ? precision_uniform(DT_F32) : in_bf16();
    precision.grad = c->out;
    Device *dev = open_gpu_of(0, FAKE_LATE, precision);
    Tensor y = operand(dev, c->out, c->m, c->n, c->pad, 1),
           a = operand(dev, c->dtype, c->ta ? c->k : c->m, c->ta ? c->m : c->k, c->pad, 2),
           b = operand(dev, c->dtype, c->tb ? c->n : c->k, c->tb ? c->k : c->n, c->pad, 3),
           bias = operand(dev, c->out, 1, c->n, 0, 4);
    g_autofree float *before = padded_numbers(dev, y), *left = padded_numbers(dev, a), *right = padded_numbers(dev, b),
                     *more = padded_numbers(dev, bias);
    const FakeCounts count = fake_cuda_counts();
    if (c->bias)
        op_linear(dev, y, a, b, tensor_vector(bias.p, c->out, c->n), 1);
    else
        op_gemm(dev, y, a, b, c->ta, c->tb, 1, c->beta);
    g_autofree float *after = padded_numbers(dev, y);
    g_test_message("%s: %ld products", c->name, fake_cuda_counts().products - count.products);
    g_assert_cmpint(fake_cuda_counts().products - count.products, ==, c->products);
    if (c->products > 1 || c->n % 8 == 0)
        g_assert_cmpfloat(fake_cuda_counts().slow - count.slow, <=, 0.1 * (double)(c->m * c->n * c->k));
    for (int64_t i = 0; i < c->m * y.ld; i++) {
        const int64_t row = i / y.ld, col = i % y.ld;
        float sum = c->bias ? more[MIN(col, c->n)] : c->beta * before[i];
        for (int64_t j = 0; j < c->k && col < c->n; j++)
            sum += left[c->ta ? j * a.ld + row : row * a.ld + j] * right[c->tb ? col * b.ld + j : j * b.ld + col];
        const float is = c->out == DT_F32 ? sum : bf16_to_f32(bf16_from_f32(sum));
        if (col >= c->n)
            g_assert_cmpfloat(after[i], ==, before[i]);
        else if (c->out == DT_F32)
            g_assert_cmpfloat(after[i], ==, is);
        else
            g_assert_cmpfloat_with_epsilon(after[i], is, 0.01F * (1 + ABS(is)));
    }
    for (Tensor *t = (Tensor[]){ y, a, b, bias }, *end = t + 4; t < end; t++)
        device_free(dev, t->p);
    device_close(dev);
}

static void large_odd_dimensions_are_split(void)
{
    for (size_t i = 0; i < G_N_ELEMENTS(splits); i++)
        check_split(&splits[i]);
}

/* Rows at odd addresses stay slow in any part, so they are one product. */
static void rows_at_odd_addresses_are_not_split(void)
{
    Device *dev = open_gpu_of(0, FAKE_LATE, in_bf16());
    Tensor y = new_matrix(dev, DT_BF16, ROWS, 1029), x = new_matrix(dev, DT_BF16, ROWS, DEPTH),
           w = new_matrix(dev, DT_BF16, 1029, DEPTH);
    long before = fake_cuda_counts().products;
    op_linear(dev, y, x, w, NO_TENSOR, 1);
    g_assert_cmpint(fake_cuda_counts().products, ==, before + 1);
    for (Tensor *t = (Tensor[]){ y, x, w }, *end = t + 3; t < end; t++)
        device_free(dev, t->p);
    device_close(dev);
}

/* ---- the choice of an algorithm ---- */

/* A product y (16,n) = a b (k,n) of at least 2^24 multiply-adds, of which most numbers are not 0. */
typedef struct Timed {
    Device *dev;
    Tensor y, a, b;
} Timed;

static Timed timed_open(DType out, int64_t n, int64_t k)
{
    const DType operands = out == DT_F16 ? DT_F16 : DT_BF16;
    Precision precision = in_bf16();
    precision.compute = precision.residual = operands;
    precision.grad = out;
    Device *dev = open_gpu_of(0, FAKE_LATE, precision);
    return (Timed){ dev, operand(dev, out, 16, n, 0, 1), operand(dev, operands, 16, k, 0, 2),
                    operand(dev, operands, k, n, 0, 3) };
}

static void timed_close(Timed *t)
{
    device_free(t->dev, t->y.p);
    device_free(t->dev, t->a.p);
    device_free(t->dev, t->b.p);
    device_close(t->dev);
}

/* The number of the algorithm of a product, the last of as many as *products says. */
static int algorithm_of(Timed *t, float beta, long *products)
{
    const long before = fake_cuda_counts().products;
    op_gemm(t->dev, t->y, t->a, t->b, false, false, 1, beta);
    *products = fake_cuda_counts().products - before;
    return fake_cuda_counts().algorithm;
}

/* The fake has algorithms 0 to 5. Number 4 is refused, 5 is the fastest but has other bits where y is added to, 2 has
 * other bits always, then comes 3. They are timed in the second call that only writes y: 5 products of each usable one,
 * two of which add to y, and that of the call itself. */
enum { TRIES = 5 * 5 };

static void the_fastest_algorithm_with_the_same_bits_is_kept(void)
{
    Timed t = timed_open(DT_F32, 1024, 1024);
    long products;
    g_assert_cmpint(algorithm_of(&t, 1, &products), ==, 0);
    g_assert_cmpint(algorithm_of(&t, 0, &products), ==, 0);
    g_autofree float *first = padded_numbers(t.dev, t.y);
    g_assert_cmpint(algorithm_of(&t, 0, &products), ==, 3);
    g_assert_cmpint(products, ==, TRIES + 1);
    g_autofree float *second = padded_numbers(t.dev, t.y);
    g_assert_true(memcmp(first, second, sizeof(float) * 16 * 1024) == 0);
    for (int beta = 0; beta < 2; beta++) {
        g_assert_cmpint(algorithm_of(&t, (float)beta, &products), ==, 3);
        g_assert_cmpint(products, ==, 1);
    }
    timed_close(&t);
}

/* Results of zeros, infinities and NaN have equal bits by every algorithm, and prove nothing. data: numbers of a. */
static void products_that_prove_nothing_are_timed_later(gconstpointer data)
{
    const DType dtypes[] = { DT_F32, DT_BF16, DT_F16 };
    for (size_t d = 0; d < G_N_ELEMENTS(dtypes); d++) {
        Timed t = timed_open(dtypes[d], 8192, 256);
        Tensor some = operand(t.dev, t.a.dtype, 16, 256, 0, 2);
        long products;
        op_fill(t.dev, t.a, *(const float *)data);
        for (int i = 0; i < 3; i++)
            g_assert_cmpint(algorithm_of(&t, 0, &products), ==, 0);
        op_copy(t.dev, t.a, some);
        g_assert_cmpint(algorithm_of(&t, 0, &products), ==, 3);
        device_free(t.dev, some.p);
        timed_close(&t);
    }
}

/* The large part of a depth that is split only adds to y. */
static void parts_of_a_depth_are_timed(void)
{
    Timed t = timed_open(DT_F32, 1024, 1029);
    long products;
    g_assert_cmpint(algorithm_of(&t, 0, &products), ==, 0);
    g_autofree float *first = padded_numbers(t.dev, t.y);
    g_assert_cmpint(algorithm_of(&t, 0, &products), ==, 3);
    g_autofree float *second = padded_numbers(t.dev, t.y);
    g_assert_cmpint(products, ==, TRIES + 2);
    g_assert_true(memcmp(first, second, sizeof(float) * 16 * 1024) == 0);
    timed_close(&t);
}

/* Small products are not worth it; few numbers of 16 bits may look alike by chance. */
static void other_products_keep_the_first_algorithm(void)
{
    const struct {
        DType out;
        int64_t n, k;
    } cases[] = { { DT_F32, 1024, 512 }, { DT_BF16, 1024, 1024 } };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        Timed t = timed_open(cases[i].out, cases[i].n, cases[i].k);
        for (int call = 0; call < 4; call++) {
            long products;
            g_assert_cmpint(algorithm_of(&t, 0, &products), ==, 0);
            g_assert_cmpint(products, ==, 1);
        }
        timed_close(&t);
    }
}

static void timing_can_be_switched_off(void)
{
    if (g_test_subprocess()) {
        g_setenv("LOAM_TIME_PRODUCTS", "0", TRUE);
        Timed t = timed_open(DT_F32, 1024, 1024);
        for (int call = 0; call < 4; call++) {
            long products;
            g_assert_cmpint(algorithm_of(&t, 0, &products), ==, 0);
        }
        timed_close(&t);
        return;
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_passed();
}

static void multiply(void)
{
    Device *dev = open_gpu_of(0, FAKE_LATE, in_bf16());
    Tensor y = new_matrix(dev, DT_BF16, ROWS, COLS), x = new_matrix(dev, DT_BF16, ROWS, DEPTH),
           w = new_matrix(dev, DT_BF16, COLS, DEPTH);
    op_linear(dev, y, x, w, NO_TENSOR, 1);
    device_synchronise(dev);
    exit(0);
}

/* An answer "found" may bring an algorithm that cannot be used. */
static void an_algorithm_has_a_state_of_its_own(void)
{
    if (g_test_subprocess()) {
        g_setenv("LOAM_FAKE_LT_STATE", "1", TRUE);
        multiply();
    }
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*loam: the GPU failed in linear (bf16 (4,16) = bf16 (4,16) by bf16 transposed (16,16)): "
                              "CUBLAS_STATUS_NOT_SUPPORTED*");
}

/* ---- failures ---- */

/* The kernel that fails: after that of opening a GPU and a fill with ones; to fill with zeros takes no kernel. */
#define BREAKS 3

/* An operation of one kernel, which fails, by itself or in a group; another that does not; waiting. */
static void fail_in_sumsq(bool group, bool blocking)
{
    g_setenv("CUDA_LAUNCH_BLOCKING", blocking ? "1" : "0", TRUE);
    Device *dev = open_gpu_of(0, FAKE_LATE, in_bf16());
    Tensor x = new_matrix(dev, DT_F32, ROWS, COLS), sum = tensor_vector(device_alloc(dev, 8), DT_F64, 1);
    op_fill(dev, sum, 0);
    if (group)
        device_group_begin(dev);
    g_setenv("LOAM_FAKE_GPU_BREAKS", G_STRINGIFY(BREAKS), TRUE);
    op_sumsq(dev, sum, x, 0);
    if (group)
        device_group_end(dev);
    op_fill(dev, x, 0);
    device_synchronise(dev);
    exit(0);
}

static void a_failed_kernel_is_told_as_late_as_it_is_found(void)
{
    if (g_test_subprocess())
        fail_in_sumsq(false, false);
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*loam: the GPU failed in waiting or an operation before it: unspecified launch failure; "
                              "CUDA_LAUNCH_BLOCKING=1 finds which\n*");
}

/* Data: whether the operation is in a group. */
static void with_blocking_launches_a_failed_kernel_is_named(const void *data)
{
    if (g_test_subprocess())
        fail_in_sumsq(data != NULL, true);
    g_test_trap_subprocess(NULL, 0, G_TEST_SUBPROCESS_DEFAULT);
    g_test_trap_assert_failed();
    g_test_trap_assert_stderr("*loam: the GPU failed in sumsq (a kernel): unspecified launch failure\n*");
}

int main(int argc, char **argv)
{
    static const float zero = 0, infinity = INFINITY;
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/products/shifted_views_share_a_plan", shifted_views_share_a_plan);
    g_test_add_func("/products/a_bias_may_lie_anywhere", a_bias_may_lie_anywhere);
    g_test_add_func("/products/only_forward_products_of_fp8_are_fast", only_forward_products_of_fp8_are_fast);
    g_test_add_func("/products/products_of_fp8_have_any_number_of_rows", products_of_fp8_have_any_number_of_rows);
    g_test_add_func("/products/large_odd_dimensions_are_split", large_odd_dimensions_are_split);
    g_test_add_func("/products/rows_at_odd_addresses_are_not_split", rows_at_odd_addresses_are_not_split);
    g_test_add_func("/products/the_fastest_algorithm_with_the_same_bits_is_kept",
                    the_fastest_algorithm_with_the_same_bits_is_kept);
    g_test_add_data_func("/products/products_that_prove_nothing_are_timed_later/0", &zero,
                         products_that_prove_nothing_are_timed_later);
    g_test_add_data_func("/products/products_that_prove_nothing_are_timed_later/infinity", &infinity,
                         products_that_prove_nothing_are_timed_later);
    g_test_add_func("/products/parts_of_a_depth_are_timed", parts_of_a_depth_are_timed);
    g_test_add_func("/products/other_products_keep_the_first_algorithm", other_products_keep_the_first_algorithm);
    g_test_add_func("/products/timing_can_be_switched_off", timing_can_be_switched_off);
    g_test_add_func("/products/an_algorithm_has_a_state_of_its_own", an_algorithm_has_a_state_of_its_own);
    g_test_add_func("/products/a_failed_kernel_is_told_as_late_as_it_is_found",
                    a_failed_kernel_is_told_as_late_as_it_is_found);
    g_test_add_data_func("/products/with_blocking_launches_a_failed_kernel_is_named/alone", NULL,
                         with_blocking_launches_a_failed_kernel_is_named);
    g_test_add_data_func("/products/with_blocking_launches_a_failed_kernel_is_named/group", "group",
                         with_blocking_launches_a_failed_kernel_is_named);
    return g_test_run();
}
