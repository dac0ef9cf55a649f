/* gemm.c: matrix products, by oneDNN's dnnl_sgemm: row-major, with strides, and the same in oneDNN 2 and 3. Measured
 * against its matmul primitive at T5's shapes it is as fast, and inside a parallel region it runs on the calling thread
 * alone. */
#include "base/check.h"
#include "base/fatal.h"
#include "device/cpu/cpu.h"

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
void cpu_gemm(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta)
{
    int64_t m = y.d[0], n = y.d[1], k = a.d[ta ? 0 : 1], units = (m + ROW_UNIT - 1) / ROW_UNIT;
    if (m == 0 || n == 0)
        return;
    cpu_gemm_enter(dev);
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

void cpu_gemm_tile(float *y, int64_t ldy, Panel a, Panel b, int64_t m, int64_t n, int64_t k, float alpha, float beta)
{
    sgemm(a.transposed, b.transposed, m, n, k, alpha, a.p, a.ld, b.p, b.ld, beta, y, ldy);
}
