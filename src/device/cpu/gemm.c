/* gemm.c: matrix products, by oneDNN's dnnl_sgemm: row-major, with strides, and the same in oneDNN 2 and 3. At T5's
 * shapes it is as fast as oneDNN's matmul primitive, and inside a parallel region it runs on the calling thread. */
#include "base/check.h"
#include "device/cpu/bf16/bf16.h"
#include "device/cpu/pool.h"

#include <dnnl.h>
#include <string.h>

void cpu_gemm_limit(const char *isa)
{
    if (strcmp(isa, "avx2") != 0)
        return;
    /* Fails after the first use of oneDNN: then an earlier device of this process must have set the same limit. */
    (void)dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
    CHECK(dnnl_get_effective_cpu_isa() <= dnnl_cpu_isa_avx2,
          "kernels of AVX2 beside products of another instruction set: oneDNN was in use before this device opened");
}

/* oneDNN reads the thread count of the calling thread's OpenMP settings. */
void cpu_gemm_enter(const Device *dev)
{
    if (omp_get_max_threads() != dev->threads)
        omp_set_num_threads(dev->threads);
}

enum {
    MIN_ROWS = 128,  /* fewest rows of y for which a thread is used */
    PART_ROWS = 256, /* fewest rows of a part if a thread has several parts */
    ROW_UNIT = 16,   /* rows of a part are a multiple of this */
    MOST_PARTS = 4   /* most parts of a thread */
};

/* y = beta · y: the product of empty operands, for which oneDNN does not change y. If beta is 0, y is not read. */
static void scale_or_clear(Device *dev, Tensor y, float beta)
{
    if (beta == 0)
        dev->ops->fill(dev, y, 0);
    else
        dev->ops->scale(dev, y, y, beta);
}

void cpu_gemm(Device *dev, Tensor y, Tensor a, Tensor b, Tensor bias, bool ta, bool tb, float alpha, float beta)
{
    const Cpu *cpu = dev->impl;
    const bool f32 = a.dtype == DT_F32 && b.dtype == DT_F32 && y.dtype == DT_F32;
    const int64_t m = y.d[0], n = y.d[1], k = a.d[ta ? 0 : 1], units = (m + ROW_UNIT - 1) / ROW_UNIT;
    const int64_t parts = max_i64(1, min_i64(m / dev->threads / PART_ROWS, MOST_PARTS)) * dev->threads;
    Pool pool;
    if (m == 0 || n == 0)
        return;
    cpu_gemm_enter(dev);
    if (cpu->bf16 && a.dtype == DT_BF16 && b.dtype == DT_BF16 && y.dtype != DT_F16)
        cpu->bf16->gemm(dev, y, a, b, bias, ta, tb, alpha, beta);
    else if (!f32)
        cpu_gemm_widened(dev, y, a, b, bias, ta, tb, alpha, beta);
    else if (k == 0)
        scale_or_clear(dev, y, beta);
    else if (m < (int64_t)MIN_ROWS * dev->threads)
        cpu_sgemm(ta, tb, m, n, k, alpha, a.p, a.ld, b.p, b.ld, beta, y.p, y.ld);
    else /* if there are enough rows, dividing them among the threads here is up to a fifth faster than in oneDNN */
#pragma omp parallel num_threads(dev->threads)
    {
        pool_fill(&pool, parts);
#pragma omp barrier
        for (int64_t i = pool_take(&pool); i >= 0; i = pool_take(&pool)) {
            int64_t first = units * i / parts * ROW_UNIT, end = min_i64(units * (i + 1) / parts * ROW_UNIT, m);
            const float *mine = (const float *)a.p + (ta ? first : first * a.ld);
            cpu_sgemm(ta, tb, end - first, n, k, alpha, mine, a.ld, b.p, b.ld, beta, (float *)y.p + first * y.ld, y.ld);
        }
    }
    if (f32 && tensor_present(bias))
        dev->ops->bias_add(dev, y, y, bias);
}

/* The panel itself if it is f32, otherwise a contiguous copy in f32. */
static Panel widened_panel(Device *dev, float *to, Panel panel, int64_t rows, int64_t cols)
{
    if (panel.dtype == DT_F32)
        return panel;
    Tensor from = { .p = (void *)panel.p, .d = { rows, cols }, .ld = panel.ld, .rank = 2, .dtype = panel.dtype };
    dev->ops->copy(dev, tensor_matrix(to, DT_F32, rows, cols), from);
    return (Panel){ to, cols, panel.transposed, DT_F32 };
}

size_t cpu_gemm_tile_bytes(const Device *dev, int64_t m, int64_t n, int64_t k)
{
    enum { UNIT = 32 }; /* sizes of bf16 panels are padded to a multiple of this */
    int64_t sides = (m + UNIT - 1) / UNIT + (n + UNIT - 1) / UNIT, depth = (k + UNIT - 1) / UNIT;
    return dev->precision.compute == DT_F32 ? 0 : (size_t)(sides * depth * UNIT * UNIT) * sizeof(float);
}

void cpu_gemm_tile(Device *dev, float *y, int64_t ldy, Panel a, Panel b, int64_t m, int64_t n, int64_t k, float alpha,
                   float beta, void *scratch)
{
    const Cpu *cpu = dev->impl;
    if (cpu->bf16 && dev->precision.compute == DT_BF16) {
        cpu->bf16->tile(y, ldy, a, b, m, n, k, alpha, beta, scratch);
        return;
    }
    a = widened_panel(dev, scratch, a, a.transposed ? k : m, a.transposed ? m : k);
    b = widened_panel(dev, (float *)scratch + m * k, b, b.transposed ? n : k, b.transposed ? k : n);
    cpu_sgemm(a.transposed, b.transposed, m, n, k, alpha, a.p, a.ld, b.p, b.ld, beta, y, ldy);
}
