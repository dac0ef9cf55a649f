/* test_lt.cc: the fake of cuBLASLt refuses what NVIDIA's documentation of cublasLtMatmul excludes: each row of `cases`
 * is one product that it must, or must not, have an algorithm for. */
#include "shim/cuda/cublasLt.h"
#include "shim/cuda/fake.h"

#include <glib.h>
#include <stdlib.h>

static const cudaDataType_t F32 = CUDA_R_32F, F16 = CUDA_R_16F, BF16 = CUDA_R_16BF, E4M3 = CUDA_R_8F_E4M3,
                            E5M2 = CUDA_R_8F_E5M2;

/* D (m,n) = op(A) op(B), by columns; each ld is the least one and `more`. */
struct Case {
    const char *name;
    cudaDataType_t a, b, c, d, bias;
    bool ta, tb, has_bias, fast, scales, tf32;
    uint64_t m, n, k;
    int64_t more_a, more_b, more_d;
    uint32_t align;      /* of all pointers, in bytes */
    const char *compute; /* compute capability of the GPU; NULL means 90 */
    const char *refused; /* NULL means that there is an algorithm; "" means that the arguments do not fit together */
};

static Case plain(const char *name, cudaDataType_t factors, cudaDataType_t d)
{
    Case c = {};
    c.name = name;
    c.a = c.b = factors;
    c.c = c.d = c.bias = d;
    c.m = c.n = c.k = 32;
    c.align = 16;
    return c;
}

static Case fp8(const char *name, cudaDataType_t d)
{
    Case c = plain(name, E4M3, d);
    c.ta = c.scales = c.fast = true;
    c.bias = d == F32 ? BF16 : d;
    return c;
}

static void check(const Case &c)
{
    static const float scale = 1;
    const void *at = &scale;
    const cublasOperation_t turned = CUBLAS_OP_T;
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    const int8_t fast = 1;
    cublasLtHandle_t lt;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, add, d;
    cublasLtMatmulPreference_t wishes;
    cublasLtMatmulHeuristicResult_t found;
    int n = 0;
    g_setenv("LOAM_FAKE_GPU", c.compute ? c.compute : "90", TRUE);
    cudaSetDevice(0);
    cublasLtCreate(&lt);
    cublasLtMatmulDescCreate(&desc, c.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, F32);
#define SET(condition, name, value)                                                                                    \
    if (condition)                                                                                                     \
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_##name, &(value), sizeof(value))
    SET(c.ta, TRANSA, turned);
    SET(c.tb, TRANSB, turned);
    SET(c.fast, FAST_ACCUM, fast);
    SET(c.has_bias, EPILOGUE, epilogue);
    SET(c.has_bias, BIAS_DATA_TYPE, c.bias);
    SET(c.scales, A_SCALE_POINTER, at);
    SET(c.scales, B_SCALE_POINTER, at);
#undef SET
    uint64_t a_rows = c.ta ? c.k : c.m, b_rows = c.tb ? c.n : c.k;
    cublasLtMatrixLayoutCreate(&a, c.a, a_rows, c.ta ? c.m : c.k, (int64_t)a_rows + c.more_a);
    cublasLtMatrixLayoutCreate(&b, c.b, b_rows, c.tb ? c.k : c.n, (int64_t)b_rows + c.more_b);
    cublasLtMatrixLayoutCreate(&add, c.c, c.m, c.n, (int64_t)c.m + c.more_d);
    cublasLtMatrixLayoutCreate(&d, c.d, c.m, c.n, (int64_t)c.m + c.more_d);
    cublasLtMatmulPreferenceCreate(&wishes);
    for (int i = 0; i < 4; i++)
        cublasLtMatmulPreferenceSetAttribute(
            wishes, (cublasLtMatmulPreferenceAttributes_t)(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i), &c.align,
            sizeof c.align);
    fake_lt_refused = "";
    cublasStatus_t answer = cublasLtMatmulAlgoGetHeuristic(lt, desc, a, b, add, d, wishes, 1, &found, &n);
    g_test_message("%s: %s", c.name, answer == CUBLAS_STATUS_SUCCESS ? "found" : fake_lt_refused);
    g_assert_cmpint(answer, ==,
                    c.refused == NULL ? CUBLAS_STATUS_SUCCESS
                    : *c.refused      ? CUBLAS_STATUS_NOT_SUPPORTED
                                      : CUBLAS_STATUS_INVALID_VALUE);
    g_assert_cmpint(n, ==, c.refused == NULL);
    if (c.refused)
        g_assert_cmpstr(fake_lt_refused, ==, c.refused);
    for (cublasLtMatrixLayout_t layout : { a, b, add, d })
        cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulPreferenceDestroy(wishes);
    cublasLtMatmulDescDestroy(desc);
    cublasLtDestroy(lt);
}

static void check_refused(Case c, const char *why)
{
    c.refused = why;
    check(c);
}

/* A case that differs from another in one field. */
#define BUT(of, field, value, why)                                                                                     \
    do {                                                                                                               \
        Case changed = of;                                                                                             \
        changed.field = value;                                                                                         \
        check_refused(changed, why);                                                                                   \
    } while (0)

static void products_of_the_table_are_found(void)
{
    for (const Case &c : { plain("f32", F32, F32), plain("f16", F16, F16), plain("f16 to f32", F16, F32),
                           plain("bf16", BF16, BF16), plain("bf16 to f32", BF16, F32), fp8("fp8 to bf16", BF16),
                           fp8("fp8 to f16", F16), fp8("fp8 to f32", F32) }) {
        check(c);
        BUT(c, has_bias, true, NULL);
    }
    for (bool first : { false, true })
        for (cudaDataType_t d : { BF16, F16, F32 }) {
            Case c = fp8("a gradient", d);
            (first ? c.a : c.b) = E5M2;
            check(c);
        }
    Case odd = plain("any shape, form and alignment of others than FP8", BF16, F32);
    odd.m = 3, odd.n = 5, odd.k = 7, odd.more_a = odd.more_b = odd.more_d = 1, odd.align = 2, odd.tb = true;
    check(odd);
    BUT(plain("TF32", F32, F32), tf32, true, NULL);
}

static void other_dtypes_are_refused(void)
{
    static const char why[] = "dtypes that no row of the table has";
    check_refused(plain("bf16 to f16", BF16, F16), why);
    check_refused(plain("f32 to bf16", F32, BF16), why);
    BUT(plain("bf16 by f32", BF16, F32), b, F32, why);
    BUT(plain("fp8 by bf16", E4M3, BF16), b, BF16, why);
    check_refused(fp8("fp8 to fp8 without its scale", E4M3), why);
    Case gradients = fp8("E5M2 by E5M2", BF16);
    gradients.a = gradients.b = E5M2;
    check_refused(gradients, why);
    Case bias = plain("an f32 bias of bf16", BF16, BF16);
    bias.has_bias = true, bias.bias = F32;
    check_refused(bias, why);
    bias = fp8("an f32 bias of FP8", F32);
    bias.has_bias = true, bias.bias = F32;
    check_refused(bias, why);
    bias = fp8("a bf16 bias of FP8 in f16", F16);
    bias.has_bias = true, bias.bias = BF16;
    check_refused(bias, why);
    BUT(plain("TF32 of bf16", BF16, BF16), tf32, true, "TF32 of others than f32");
    BUT(plain("fast accumulation of bf16", BF16, BF16), fast, true, "fast accumulation of others than FP8");
    BUT(plain("scales of bf16", BF16, BF16), scales, true, "scales of others than FP8");
}

static void other_forms_of_fp8_are_refused(void)
{
    static const char form[] = "another form than transposed A by B",
                      dimension[] = "a dimension that is no multiple of 16",
                      apart[] = "columns that are not 16 bytes apart",
                      aligned[] = "a pointer of FP8 that is not aligned to 16 bytes";
    const Case good = fp8("fp8", BF16);
    BUT(good, ta, false, form);
    BUT(good, tb, true, form);
    BUT(good, m, 24, dimension);
    BUT(good, n, 228, dimension);
    BUT(good, k, 40, dimension);
    BUT(good, more_a, 8, apart);
    BUT(good, more_b, 8, apart);
    BUT(good, more_d, 4, apart);
    BUT(good, more_d, 8, NULL);
    BUT(good, align, 8, aligned);
    BUT(good, compute, "80", "a GPU without FP8");
    BUT(good, compute, "89", NULL);
    BUT(good, tf32, true, "sums in another type than f32");
}

static void matrices_that_do_not_fit_are_refused(void)
{
    BUT(plain("columns that overlap", BF16, BF16), more_a, -1, "");
    BUT(plain("C of another dtype than D", BF16, BF16), c, F32, "");
    BUT(plain("a dimension of 0", BF16, BF16), n, 0, "");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/lt/products_of_the_table_are_found", products_of_the_table_are_found);
    g_test_add_func("/lt/other_dtypes_are_refused", other_dtypes_are_refused);
    g_test_add_func("/lt/other_forms_of_fp8_are_refused", other_forms_of_fp8_are_refused);
    g_test_add_func("/lt/matrices_that_do_not_fit_are_refused", matrices_that_do_not_fit_are_refused);
    return g_test_run();
}
