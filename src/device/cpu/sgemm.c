/* sgemm.c: calls dnnl_sgemm and ends the program if it fails; for gemm.c and gemm_widened.c. */
#include "base/check.h"
#include "base/fatal.h"
#include "device/cpu/cpu.h"

#include <dnnl.h>

void cpu_sgemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
               const float *b, int64_t ldb, float beta, float *y, int64_t ldy)
{
    dnnl_status_t status = dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, alpha, a, lda, b, ldb, beta, y, ldy);
    if (status == dnnl_out_of_memory)
        fatal_memory("a matrix product");
    CHECK(status == dnnl_success, "dnnl_sgemm of %lld x %lld x %lld: status %d", (long long)m, (long long)n,
          (long long)k, (int)status);
}
