/* gemm.c: matrix products, by oneDNN's dnnl_sgemm: row-major, with strides, and the same in oneDNN 2 and 3. Measured
 * against its matmul primitive at T5's shapes it is as fast, and inside a parallel region it runs on the calling thread
 * alone. */
#include "base/check.h"
#include "base/fatal.h"
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

static void sgemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
                  const float *b, int64_t ldb, float beta, float *y, int64_t ldy)
{
    dnnl_status_t status = dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, y, ldy);
    if (status == dnnl_out_of_memory)
        fatal_memory("a matrix product");
    CHECK(status == dnnl_success, "dnnl_sgemm of %lld x %lld x %lld: status %d", (long long)m, (long long)n,
          (long long)k, (int)status);
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
        sgemm(ta, tb, m, n, k, alpha, a.p, a.ld, b.p, b.ld, beta, y.p, y.ld);
        return;
    }
#pragma omp parallel num_threads(dev->threads)
    {
        int64_t thread = omp_get_thread_num(), size = omp_get_num_threads();
        int64_t first = units * thread / size * ROW_UNIT, end = units * (thread + 1) / size * ROW_UNIT;
        int64_t rows = (end < m ? end : m) - first;
        const float *mine = (const float *)a.p + (ta ? first : first * a.ld);
        sgemm(ta, tb, rows, n, k, alpha, mine, a.ld, b.p, b.ld, beta, (float *)y.p + first * y.ld, y.ld);
    }
}

/* Products of numbers that the processor cannot multiply go through f32, a block of y at a time. */
enum { BLOCK_ROWS = 256, BLOCK_COLS = 512, BLOCK_DEPTH = 1024 };

typedef struct Block {
    int64_t row, rows, col, cols, first, depth; /* of y; of what is summed over */
} Block;

/* The rectangle of t that begins at (row, col), as f32 side by side. */
static void widen(Device *dev, float *to, Tensor t, int64_t row, int64_t rows, int64_t col, int64_t cols)
{
    dev->ops->copy(dev, tensor_matrix(to, DT_F32, rows, cols),
                   tensor_slice_cols(tensor_slice_rows(t, row, rows), col, cols));
}

/* sums (rows, cols) = a b + keep · sums of a block. */
static void multiply_block(Device *dev, float *sums, Tensor a, Tensor b, bool ta, bool tb, Block at, float keep)
{
    float *left = sums + BLOCK_ROWS * BLOCK_COLS, *right = left + BLOCK_ROWS * BLOCK_DEPTH;
    if (ta)
        widen(dev, left, a, at.first, at.depth, at.row, at.rows);
    else
        widen(dev, left, a, at.row, at.rows, at.first, at.depth);
    if (tb)
        widen(dev, right, b, at.col, at.cols, at.first, at.depth);
    else
        widen(dev, right, b, at.first, at.depth, at.col, at.cols);
    gemm_f32(dev, tensor_matrix(sums, DT_F32, at.rows, at.cols),
             tensor_matrix(left, DT_F32, ta ? at.depth : at.rows, ta ? at.rows : at.depth),
             tensor_matrix(right, DT_F32, tb ? at.cols : at.depth, tb ? at.depth : at.cols), ta, tb, 1, keep);
}

static int64_t part(int64_t from, int64_t all, int64_t most)
{
    return all - from < most ? all - from : most;
}

static void gemm_widened(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta)
{
    enum { NUMBERS = BLOCK_ROWS * BLOCK_COLS + (BLOCK_ROWS + BLOCK_COLS) * BLOCK_DEPTH, OLD = BLOCK_ROWS * BLOCK_COLS };
    int64_t depth = a.d[ta ? 0 : 1];
    float *sums = cpu_workspace(dev, (NUMBERS + OLD) * sizeof(float)), *old = sums + NUMBERS;
    for (int64_t row = 0; row < y.d[0]; row += BLOCK_ROWS)
        for (int64_t col = 0; col < y.d[1]; col += BLOCK_COLS) {
            Block at = {
                .row = row, .rows = part(row, y.d[0], BLOCK_ROWS), .col = col, .cols = part(col, y.d[1], BLOCK_COLS)
            };
            memset(sums, 0, (size_t)(at.rows * at.cols) * sizeof *sums);
            for (at.first = 0; at.first < depth; at.first += BLOCK_DEPTH) {
                at.depth = part(at.first, depth, BLOCK_DEPTH);
                multiply_block(dev, sums, a, b, ta, tb, at, 1);
            }
            Tensor out = tensor_slice_cols(tensor_slice_rows(y, row, at.rows), col, at.cols);
            if (beta != 0)
                widen(dev, old, out, 0, at.rows, 0, at.cols);
            for (int64_t i = 0; i < at.rows * at.cols; i++)
                sums[i] = alpha * sums[i] + (beta != 0 ? beta * old[i] : 0);
            dev->ops->copy(dev, out, tensor_matrix(sums, DT_F32, at.rows, at.cols));
        }
}

void cpu_gemm(Device *dev, Tensor y, Tensor a, Tensor b, Tensor bias, bool ta, bool tb, float alpha, float beta)
{
    const Cpu *cpu = dev->impl;
    if (y.d[0] == 0 || y.d[1] == 0)
        return;
    cpu_gemm_enter(dev);
    if (cpu->bf16 && a.dtype == DT_BF16 && b.dtype == DT_BF16 && y.dtype != DT_F16) {
        cpu->bf16->gemm(dev, y, a, b, bias, ta, tb, alpha, beta);
        return;
    }
    if (a.dtype == DT_F32 && b.dtype == DT_F32 && y.dtype == DT_F32)
        gemm_f32(dev, y, a, b, ta, tb, alpha, beta);
    else
        gemm_widened(dev, y, a, b, ta, tb, alpha, beta);
    if (tensor_present(bias))
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
    sgemm(a.transposed, b.transposed, m, n, k, alpha, a.p, a.ld, b.p, b.ld, beta, y, ldy);
}
