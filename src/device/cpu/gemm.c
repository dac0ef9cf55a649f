/* gemm.c: matrix products, by oneDNN's dnnl_sgemm: row-major, with strides, and the same in oneDNN 2 and 3. Measured
 * against its matmul primitive at T5's shapes it is as fast, and inside a parallel region it runs on the calling thread
 * alone. */
#include "base/check.h"
#include "device/cpu/bf16/bf16.h"

#include <dnnl.h>
#include <omp.h>
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

enum { MIN_ROWS = 128, ROW_UNIT = 16 }; /* rows of y: the fewest worth a thread, and what a share is a multiple of */

/* With enough rows for every thread, each computes its own: up to a fifth faster than oneDNN's own division. */
static void gemm_f32(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta)
{
    int64_t m = y.d[0], n = y.d[1], k = a.d[ta ? 0 : 1], units = (m + ROW_UNIT - 1) / ROW_UNIT;
    if (m < (int64_t)MIN_ROWS * dev->threads) {
        cpu_sgemm(ta, tb, m, n, k, alpha, a.p, a.ld, b.p, b.ld, beta, y.p, y.ld);
        return;
    }
#pragma omp parallel num_threads(dev->threads)
    {
        int64_t thread = omp_get_thread_num(), size = omp_get_num_threads();
        int64_t first = units * thread / size * ROW_UNIT, end = units * (thread + 1) / size * ROW_UNIT;
        int64_t rows = (end < m ? end : m) - first;
        const float *mine = (const float *)a.p + (ta ? first : first * a.ld);
        cpu_sgemm(ta, tb, rows, n, k, alpha, mine, a.ld, b.p, b.ld, beta, (float *)y.p + first * y.ld, y.ld);
    }
}

void cpu_gemm(Device *dev, Tensor y, Tensor a, Tensor b, Tensor bias, bool ta, bool tb, float alpha, float beta)
{
    const Cpu *cpu = dev->impl;
    if (y.d[0] == 0 || y.d[1] == 0)
        return;
    cpu_gemm_enter(dev);
    bool f32 = a.dtype == DT_F32 && b.dtype == DT_F32 && y.dtype == DT_F32;
    if (f32)
        gemm_f32(dev, y, a, b, ta, tb, alpha, beta);
    else if (cpu->bf16 && a.dtype == DT_BF16 && b.dtype == DT_BF16 && y.dtype != DT_F16)
        cpu->bf16->gemm(dev, y, a, b, bias, ta, tb, alpha, beta);
    else
        cpu_gemm_widened(dev, y, a, b, bias, ta, tb, alpha, beta);
    if (f32 && tensor_present(bias))
        dev->ops->bias_add(dev, y, y, bias);
}

/* The panel itself, or its numbers in f32 side by side. */
static Panel widened_panel(Device *dev, float *to, Panel panel, int64_t rows, int64_t cols)
{
    if (panel.dtype == DT_F32)
        return panel;
    Tensor from = {
        .p = (void *)panel.p, .d = { rows, cols }, .ld = panel.ld, .rank = 2, .dtype = (uint8_t)panel.dtype
    };
    dev->ops->copy(dev, tensor_matrix(to, DT_F32, rows, cols), from);
    return (Panel){ to, cols, panel.transposed, DT_F32 };
}

size_t cpu_gemm_tile_bytes(const Device *dev, int64_t m, int64_t n, int64_t k)
{
    enum { UNIT = 32 }; /* panels of bf16 are padded to it */
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
