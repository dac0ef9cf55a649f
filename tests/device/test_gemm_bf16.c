/* Products of bf16 matrices: every instruction set of this processor against sums in double, for views with gaps,
 * shapes that end within blocks and panels, and depths beyond what fits the first-level cache. */
#include "base/float16.h"
#include "base/philox.h"
#include "device/device.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>

typedef struct Shape {
    int64_t rows, cols, depth;
} Shape;

static double random_number(Philox *rng)
{
    return philox_uniform(rng) - 0.5;
}

static double number_at(Tensor t, int64_t row, int64_t col)
{
    int64_t at = row * t.ld + col;
    return t.dtype == DT_F32 ? (double)((float *)t.p)[at] : (double)bf16_to_f32(((uint16_t *)t.p)[at]);
}

/* A matrix with NaN in the gaps between its rows. */
static Tensor random_matrix(Philox *rng, DType dtype, int64_t rows, int64_t cols, int64_t gap)
{
    Tensor t = tensor_matrix(NULL, dtype, rows, cols);
    t.ld = cols + gap;
    t.p = g_aligned_alloc0(1, (size_t)(rows * t.ld + 1) * dtype_bytes(dtype), 64);
    for (int64_t i = 0; i < rows * t.ld; i++) {
        double x = i % t.ld < cols ? random_number(rng) : NAN;
        if (dtype == DT_F32)
            ((float *)t.p)[i] = (float)x;
        else
            ((uint16_t *)t.p)[i] = bf16_from_f32((float)x);
    }
    return t;
}

enum { MOST = 30 }; /* rows and columns of a product that are compared, spread over all */

/* Bits of a case. */
enum { LEFT_TRANSPOSED = 1, RIGHT_TRANSPOSED = 2, TO_BF16 = 4, SCALED = 8, SIDE_BY_SIDE = 16, CASES = 32 };

/* Side by side: without gaps between rows, so that y is written by whole lines, and with a bias where it is a linear
 * layer. */
static void compare(Device *dev, Philox *rng, Shape s, int code)
{
    bool ta = code & LEFT_TRANSPOSED, tb = code & RIGHT_TRANSPOSED, gaps = !(code & SIDE_BY_SIDE);
    bool biased = !gaps && !ta && tb && !(code & SCALED);
    DType dtype = code & TO_BF16 ? DT_BF16 : DT_F32;
    float alpha = code & SCALED ? 0.5f : 1, beta = !gaps ? 0.0f : code & SCALED ? 2.0f : code & TO_BF16 ? 1.0f : 0.0f;
    Tensor a = random_matrix(rng, DT_BF16, ta ? s.depth : s.rows, ta ? s.rows : s.depth, gaps ? 3 : 0);
    Tensor b = random_matrix(rng, DT_BF16, tb ? s.cols : s.depth, tb ? s.depth : s.cols, gaps ? 5 : 0);
    Tensor y = random_matrix(rng, dtype, s.rows, s.cols, gaps ? 7 : 0), old = y;
    Tensor bias = random_matrix(rng, DT_BF16, 1, s.cols, 0);
    size_t bytes = (size_t)(s.rows * y.ld) * dtype_bytes(dtype);
    old.p = g_memdup2(y.p, MAX(bytes, 1));
    if (biased)
        op_linear(dev, y, a, b, tensor_vector(bias.p, DT_BF16, s.cols), alpha);
    else
        op_gemm(dev, y, a, b, ta, tb, alpha, beta);
    device_synchronise(dev);
    for (int64_t i = 0; i < s.rows; i += 1 + s.rows / MOST)
        for (int64_t j = 0; j < s.cols; j += 1 + s.cols / MOST) {
            double sum = 0, size = 0;
            for (int64_t k = 0; k < s.depth; k++) {
                double term = number_at(a, ta ? k : i, ta ? i : k) * number_at(b, tb ? j : k, tb ? k : j);
                sum += term;
                size += fabs(term);
            }
            double want = (double)alpha * sum + (beta != 0 ? (double)beta * number_at(old, i, j) : 0) +
                          (biased ? number_at(bias, 0, j) : 0);
            double bound = 1e-6 * (size + 1) + (dtype == DT_BF16 ? fabs(want) / 256 : 0);
            if (!(fabs(number_at(y, i, j) - want) <= bound))
                g_error("%s: %ld x %ld x %ld, case %d: y[%ld][%ld] = %.9g, not %.9g", dev->isa, (long)s.rows,
                        (long)s.cols, (long)s.depth, code, (long)i, (long)j, number_at(y, i, j), want);
        }
    g_aligned_free(a.p);
    g_aligned_free(b.p);
    g_aligned_free(y.p);
    g_free(old.p);
    g_aligned_free(bias.p);
}

static void products_equal_sums_in_double(gconstpointer isa)
{
    static const Shape shapes[] = { { 1, 1, 1 },      { 33, 31, 65 },   { 64, 64, 64 },   { 2, 300, 96 },
                                    { 300, 2, 33 },   { 40, 40, 0 },    { 290, 67, 600 }, { 600, 530, 32 },
                                    { 37, 45, 1100 }, { 40, 1100, 40 }, { 3, 35, 4100 },  { 35, 3, 8300 },
                                    { 700, 64, 70 },  { 550, 256, 40 }, { 150, 40, 4200 } };
    /* As many rows as are multiplied with weights where those lie, and one more. */
    static const Shape few_rows[] = { { 1, 300, 96 }, { 5, 45, 64 },  { 16, 33, 608 }, { 17, 64, 32 },
                                      { 33, 70, 96 }, { 49, 31, 64 }, { 64, 300, 64 }, { 65, 40, 64 } };
    g_setenv("LOAM_CPU_ISA", isa, TRUE);
    Device *dev = device_open_cpu(
        2, (Precision){ .compute = DT_BF16, .residual = DT_F32, .grad = DT_F32, .master = DT_F32, .state = DT_F32 });
    if (!g_str_equal(dev->isa, isa))
        g_test_skip("this processor lacks the instruction set");
    Philox rng = philox_open(philox_key(1, PHILOX_OTHER, 0), 0);
    for (size_t i = 0; g_str_equal(dev->isa, isa) && i < G_N_ELEMENTS(shapes); i++)
        for (int code = 0; code < CASES; code++)
            compare(dev, &rng, shapes[i], code);
    for (size_t i = 0; g_str_equal(dev->isa, isa) && i < G_N_ELEMENTS(few_rows); i++)
        for (int code = 0; code < 16; code++)
            compare(dev, &rng, few_rows[i], code);
    device_close(dev);
}

static void sums_of_many_panels_wait_for_the_rest_of_the_depth(void)
{
    enum { SIDE = 2100, DEPTH = 4128 };
    Device *dev = device_open_cpu(
        2, (Precision){ .compute = DT_BF16, .residual = DT_F32, .grad = DT_F32, .master = DT_F32, .state = DT_F32 });
    void *memory = device_alloc(dev, (size_t)(2 * SIDE * DEPTH) * 2 + (size_t)(SIDE * SIDE) * 4);
    Tensor a = tensor_matrix(memory, DT_BF16, SIDE, DEPTH),
           b = tensor_matrix((uint16_t *)memory + SIDE * DEPTH, DT_BF16, SIDE, DEPTH),
           y = tensor_matrix((uint16_t *)memory + 2 * SIDE * DEPTH, DT_F32, SIDE, SIDE);
    for (int64_t i = 0; i < SIDE; i++)
        for (int64_t k = 0; k < DEPTH; k++) {
            ((uint16_t *)a.p)[i * DEPTH + k] = bf16_from_f32((float)(i % 7 + 1));
            ((uint16_t *)b.p)[i * DEPTH + k] = bf16_from_f32((float)(i % 5 + (k < 10 ? 1 : 0)));
        }
    op_gemm(dev, y, a, b, false, true, 1, 0);
    for (int64_t i = 0; i < SIDE; i++)
        for (int64_t j = 0; j < SIDE; j++)
            g_assert_cmpfloat(((float *)y.p)[i * SIDE + j], ==, (float)((i % 7 + 1) * (DEPTH * (j % 5) + 10)));
    device_free(dev, memory);
    device_close(dev);
}

int main(int argc, char **argv)
{
    static const char *const isas[] = { "avx512", "avx512_bf16", "amx", "neon" };
    g_test_init(&argc, &argv, NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(isas); i++) {
        g_autofree char *name = g_strdup_printf("/device/gemm_bf16/products_equal_sums_in_double/%s", isas[i]);
        g_test_add_data_func(name, isas[i], products_equal_sums_in_double);
    }
    g_test_add_func("/device/gemm_bf16/sums_of_many_panels_wait_for_the_rest_of_the_depth",
                    sums_of_many_panels_wait_for_the_rest_of_the_depth);
    return g_test_run();
}
