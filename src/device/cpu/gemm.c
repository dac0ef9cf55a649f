/* gemm.c: matrix products, by oneDNN's dnnl_sgemm: row-major, with strides, and the same in oneDNN 2 and 3. Measured
 * against its matmul primitive at T5's shapes it is as fast, and inside a parallel region it runs on the calling thread
 * alone. */
#include "base/check.h"
#include "device/cpu/cpu.h"

#include <dnnl.h>
#include <omp.h>
#include <string.h>

void cpu_gemm_limit(const char *isa)
{
    /* Fails after the first use of oneDNN; then an earlier device has already set the same limit. */
    if (strcmp(isa, "avx2") == 0)
        (void)dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
}

static void sgemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
                  const float *b, int64_t ldb, float beta, float *y, int64_t ldy)
{
    dnnl_status_t status = dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, y, ldy);
    CHECK(status == dnnl_success, "dnnl_sgemm of %lld x %lld x %lld: status %d", (long long)m, (long long)n,
          (long long)k, (int)status);
}

/* oneDNN reads the thread count of the calling thread's OpenMP settings. */
void cpu_gemm_enter(const Device *dev)
{
    if (omp_get_max_threads() != dev->threads)
        omp_set_num_threads(dev->threads);
}

void cpu_gemm(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta)
{
    int64_t k = a.d[ta ? 0 : 1];
    if (y.d[0] == 0 || y.d[1] == 0)
        return;
    cpu_gemm_enter(dev);
    sgemm(ta, tb, y.d[0], y.d[1], k, alpha, a.p, a.ld, b.p, b.ld, beta, y.p, y.ld);
}

void cpu_gemm_tile(float *y, int64_t ldy, Panel a, Panel b, int64_t m, int64_t n, int64_t k, float alpha, float beta)
{
    sgemm(a.transposed, b.transposed, m, n, k, alpha, a.p, a.ld, b.p, b.ld, beta, y, ldy);
}
