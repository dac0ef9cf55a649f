/* lt.cu: asks cuBLASLt for algorithms of a matrix product, and for the product. */
#include "device/cuda/native/gpu_native.h"

void lt_answer(cublasStatus_t answer, const PlanKey &key)
{
    char what[200];
    if (answer == CUBLAS_STATUS_SUCCESS || gpu_notes(cudaErrorNotSupported))
        return;
    snprintf(what, sizeof what, "%s (%lld,%lld) = %s %s(%lld,%lld) by %s %s(%lld,%lld)", dtype_name(key.y_dtype),
             (long long)key.m, (long long)key.n, dtype_name(key.a_dtype), key.ta ? "transposed " : "",
             (long long)(key.ta ? key.k : key.m), (long long)(key.ta ? key.m : key.k), dtype_name(key.b_dtype),
             key.tb ? "transposed " : "", (long long)(key.tb ? key.n : key.k), (long long)(key.tb ? key.k : key.n));
    gpu_fail(what, cublasLtGetStatusString(answer));
}

int lt_find(Gpu *gpu, const Plan *plan, cublasLtMatmulHeuristicResult_t *found, int most)
{
    const uint64_t workspace = PRODUCT_BYTES;
    cublasLtMatmulPreference_t wishes;
    int n = 0;
    lt_answer(cublasLtMatmulPreferenceCreate(&wishes), plan->key);
#define WISH(name, value)                                                                                              \
    lt_answer(cublasLtMatmulPreferenceSetAttribute(wishes, CUBLASLT_MATMUL_PREF_##name, &(value), sizeof(value)),      \
              plan->key)
    WISH(MAX_WORKSPACE_BYTES, workspace);
    WISH(MIN_ALIGNMENT_A_BYTES, plan->key.align_b);
    WISH(MIN_ALIGNMENT_B_BYTES, plan->key.align_a);
    WISH(MIN_ALIGNMENT_C_BYTES, plan->key.align_y);
    WISH(MIN_ALIGNMENT_D_BYTES, plan->key.align_y);
#undef WISH
    cublasStatus_t answer = cublasLtMatmulAlgoGetHeuristic(gpu->lt, plan->what, plan->b, plan->a, plan->y, plan->y,
                                                           wishes, most, found, &n);
    if (answer == CUBLAS_STATUS_SUCCESS)
        answer = n == 0 ? CUBLAS_STATUS_NOT_SUPPORTED : found->state;
    lt_answer(answer, plan->key);
    cublasLtMatmulPreferenceDestroy(wishes);
    return n;
}

cublasStatus_t lt_run(Gpu *gpu, const Plan *plan, const Product &call, const cublasLtMatmulAlgo_t *how, float beta)
{
    return cublasLtMatmul(gpu->lt, plan->what, &call.alpha, call.b, plan->b, call.a, plan->a, &beta, call.y, plan->y,
                          call.y, plan->y, how, gpu->workspace, PRODUCT_BYTES, gpu->stream);
}
