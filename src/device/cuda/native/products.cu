/* products.cu: matrix products by cuBLASLt, which is column-major: y = a b, of matrices by rows, is yᵀ = bᵀ aᵀ there.
 * The choice of an algorithm (tuning.cu) is kept for each shape. Large dimensions that its fast algorithms exclude are
 * split. Sums are f32. f32 is rounded to TF32 if the precision says so. Each FP8 operand has a scale, whose inverse
 * cuBLASLt reads from memory of the device. */
#include "device/cuda/native/gpu_native.h"

enum { MOST_ALIGN = 16 };                     /* bytes; also the least alignment of the bias */
enum { FP8_UNIT = 16 };                       /* products of FP8 have dimensions of multiples of this */
enum { SPLIT_UNIT = 64, SPLIT_LEAST = 1024 }; /* see product */

bool products_open(Gpu *gpu)
{
    return cublasLtCreate(&gpu->lt) == CUBLAS_STATUS_SUCCESS;
}

static void plan_clear(Plan *plan)
{
    cublasLtMatmulDescDestroy(plan->what);
    cublasLtMatrixLayoutDestroy(plan->a);
    cublasLtMatrixLayoutDestroy(plan->b);
    cublasLtMatrixLayoutDestroy(plan->y);
}

void products_close(Gpu *gpu)
{
    for (int i = 0; i < gpu->n_plans; i++)
        plan_clear(&gpu->plans[i]);
    if (gpu->lt)
        cublasLtDestroy(gpu->lt);
}

static bool is_fp8(DType dtype)
{
    return dtype == DT_E4M3 || dtype == DT_E5M2;
}

/* The only dtype of the bias that cuBLASLt takes: of FP8 products it is bf16 beside f32 results, too. */
static DType bias_dtype(DType a_dtype, DType y_dtype)
{
    return is_fp8(a_dtype) && y_dtype == DT_F32 ? DT_BF16 : y_dtype;
}

static cudaDataType_t cuda_dtype(DType dtype)
{
    switch (dtype) {
    case DT_F32:
        return CUDA_R_32F;
    case DT_BF16:
        return CUDA_R_16BF;
    case DT_E4M3:
        return CUDA_R_8F_E4M3;
    case DT_E5M2:
        return CUDA_R_8F_E5M2;
    default:
        return CUDA_R_16F;
    }
}

/* The largest power of two that divides an address, up to what kernels of cuBLASLt read by one load. */
static uint32_t alignment(const void *p)
{
    uintptr_t bits = (uintptr_t)p | MOST_ALIGN;
    return (uint32_t)(bits & -bits);
}

/* Further arguments of a product; each pointer may be NULL. */
struct Extras {
    const void *bias;                  /* (N) of y's dtype, aligned to MOST_ALIGN */
    const void *a_inverse, *b_inverse; /* (1) f32, inverse scales of FP8 operands */
};

/* Pointers are not part of a plan. */
static void set_pointers(Plan *plan, const Extras &extras)
{
    const struct {
        cublasLtMatmulDescAttributes_t attribute;
        const void *p;
    } pointers[] = { { CUBLASLT_MATMUL_DESC_BIAS_POINTER, extras.bias },
                     { CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, extras.b_inverse },
                     { CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, extras.a_inverse } };
    for (const auto &pointer : pointers)
        if (pointer.p)
            lt_answer(cublasLtMatmulDescSetAttribute(plan->what, pointer.attribute, &pointer.p, sizeof pointer.p),
                      plan->key);
}

static void plan_make(Gpu *gpu, Plan *plan, const PlanKey &key, const Extras &extras)
{
    const cublasOperation_t none = CUBLAS_OP_N, turned = CUBLAS_OP_T;
    const cudaDataType_t bias = cuda_dtype(bias_dtype(key.a_dtype, key.y_dtype));
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    const cublasComputeType_t sums = key.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    /* E4M3 sums (activations, weights) may lose bits, those with E5M2 (gradients) not, as in Transformer Engine. */
    const int8_t fast = key.a_dtype == DT_E4M3 && key.b_dtype == DT_E4M3;
    cudaDataType_t a = cuda_dtype(key.a_dtype), b = cuda_dtype(key.b_dtype), out = cuda_dtype(key.y_dtype);
    plan->key = key;
    plan->writes = 0;
    plan->timed = false;
    lt_answer(cublasLtMatmulDescCreate(&plan->what, sums, CUDA_R_32F), key);
#define SET(name, value)                                                                                               \
    lt_answer(cublasLtMatmulDescSetAttribute(plan->what, CUBLASLT_MATMUL_DESC_##name, &(value), sizeof(value)),        \
              plan->key)
    SET(TRANSA, key.tb ? turned : none);
    SET(TRANSB, key.ta ? turned : none);
    if (fast)
        SET(FAST_ACCUM, fast);
    if (key.bias) {
        SET(EPILOGUE, epilogue);
        SET(BIAS_DATA_TYPE, bias);
    }
#undef SET
    int64_t a_rows = key.ta ? key.k : key.m, a_cols = key.ta ? key.m : key.k;
    int64_t b_rows = key.tb ? key.n : key.k, b_cols = key.tb ? key.k : key.n;
    lt_answer(cublasLtMatrixLayoutCreate(&plan->a, a, (uint64_t)a_cols, (uint64_t)a_rows, key.lda), key);
    lt_answer(cublasLtMatrixLayoutCreate(&plan->b, b, (uint64_t)b_cols, (uint64_t)b_rows, key.ldb), key);
    lt_answer(cublasLtMatrixLayoutCreate(&plan->y, out, (uint64_t)key.n, (uint64_t)key.m, key.ldy), key);
    set_pointers(plan, extras);
    cublasLtMatmulHeuristicResult_t found;
    lt_find(gpu, plan, &found, 1);
    plan->how = found.algo;
}

static Plan *plan_for(Gpu *gpu, const PlanKey &key, const Extras &extras)
{
    for (int i = 0; i < gpu->n_plans; i++)
        if (memcmp(&gpu->plans[i].key, &key, sizeof key) == 0)
            return &gpu->plans[i];
    Plan *plan = &gpu->plans[gpu->next_plan];
    if (gpu->n_plans < PLANS)
        gpu->n_plans++;
    else
        plan_clear(plan); /* the oldest; cuBLASLt has taken what queued products need of it */
    gpu->next_plan = (gpu->next_plan + 1) % PLANS;
    plan_make(gpu, plan, key, extras);
    return plan;
}

/* The plan of a product, with the pointers of this call. */
static Plan *plan_of(Device *dev, Tensor y, Tensor a, Tensor b, const Extras &extras, bool ta, bool tb)
{
    PlanKey key;
    memset(&key, 0, sizeof key);
    key.m = rows_of(y);
    key.n = cols_of(y);
    key.k = ta ? rows_of(a) : cols_of(a);
    key.lda = a.ld, key.ldb = b.ld, key.ldy = y.ld;
    key.a_dtype = a.dtype, key.b_dtype = b.dtype, key.y_dtype = y.dtype;
    key.ta = ta, key.tb = tb, key.bias = extras.bias != NULL;
    key.tf32 = dev->precision.tf32 && a.dtype == DT_F32;
    key.align_a = alignment(a.p), key.align_b = alignment(b.p), key.align_y = alignment(y.p);
    Plan *plan = plan_for(gpu_of(dev), key, extras);
    set_pointers(plan, extras);
    return plan;
}

static void one_product(Device *dev, Tensor y, Tensor a, Tensor b, const Extras &extras, bool ta, bool tb, float alpha,
                        float beta)
{
    Plan *plan = plan_of(dev, y, a, b, extras, ta, tb);
    const Product call = { a.p, b.p, y.p, alpha };
    if (beta == 0)
        tuning_choose(gpu_of(dev), plan, call, y);
    lt_answer(lt_run(gpu_of(dev), plan, call, &plan->how, beta), plan->key);
}

/* Whether rows of n numbers are no multiple of 16 bytes. */
static bool is_odd(int64_t n, Tensor t)
{
    return n * (int64_t)dtype_bytes(t.dtype) % MOST_ALIGN != 0;
}

/* Whether all rows of a matrix begin at multiples of 16 bytes. */
static bool rows_are_aligned(Tensor t)
{
    return t.rank == 2 && alignment(t.p) == MOST_ALIGN && !is_odd(t.ld, t);
}

/* A part of dimension `rows ? 0 : 1` of a matrix. */
static Tensor part(Tensor t, bool rows, int64_t first, int64_t n)
{
    return rows ? tensor_slice_rows(t, first, n) : tensor_slice_cols(t, first, n);
}

/* y = alpha · op(a) op(b) + bias + beta · y in two parts of the depth, the first of `whole`. The rest comes first: a y
 * of 16 bits is then rounded in between while it is small. */
static void product_by_depth(Device *dev, Tensor y, Tensor a, Tensor b, const Extras &extras, bool ta, bool tb,
                             float alpha, float beta, int64_t whole)
{
    const int64_t rest = (ta ? rows_of(a) : cols_of(a)) - whole;
    Tensor a_whole = part(a, ta, 0, whole), b_whole = part(b, !tb, 0, whole);
    if (beta == 0) /* the product that is large only adds to y, so it is timed before y is written */
        tuning_choose(gpu_of(dev), plan_of(dev, y, a_whole, b_whole, extras, ta, tb), { a.p, b.p, y.p, alpha }, y);
    one_product(dev, y, part(a, ta, whole, rest), part(b, !tb, whole, rest), {}, ta, tb, alpha, beta);
    one_product(dev, y, a_whole, b_whole, extras, ta, tb, alpha, 1);
}

/* y = alpha · op(a) op(b) + bias + beta · y. cuBLASLt's fast algorithms need rows of multiples of 16 bytes: not only
 * their distance (ld) but their length. On an H200 a vocabulary of 50,257 makes each of its three products 5 to 7 times
 * slower. So such a dimension, if it is large, is split into a multiple of SPLIT_UNIT and the rest, a small product. */
static void product(Device *dev, Tensor y, Tensor a, Tensor b, const Extras &extras, bool ta, bool tb, float alpha,
                    float beta)
{
    const int64_t m = rows_of(y), n = cols_of(y), k = ta ? rows_of(a) : cols_of(a);
    const bool may_split = rows_are_aligned(y) && rows_are_aligned(a) && rows_are_aligned(b);
    auto splits = [&](int64_t size, bool odd) { return may_split && odd && size >= SPLIT_LEAST; };
    auto whole_of = [](int64_t size) { return size / SPLIT_UNIT * SPLIT_UNIT; };
    if (splits(n, is_odd(n, y) || (!tb && is_odd(n, b))))
        for (int64_t first = 0, size = whole_of(n); first < n; first += size, size = n - first) {
            Extras of_part = extras;
            if (extras.bias)
                of_part.bias = (const char *)extras.bias + (size_t)first * dtype_bytes(bias_dtype(a.dtype, y.dtype));
            product(dev, part(y, false, first, size), a, part(b, tb, first, size), of_part, ta, tb, alpha, beta);
        }
    else if (splits(m, ta && is_odd(m, a)))
        for (int64_t first = 0, size = whole_of(m); first < m; first += size, size = m - first)
            product(dev, part(y, true, first, size), part(a, false, first, size), b, extras, ta, tb, alpha, beta);
    else if (splits(k, (!ta && is_odd(k, a)) || (tb && is_odd(k, b))))
        product_by_depth(dev, y, a, b, extras, ta, tb, alpha, beta, whole_of(k));
    else
        one_product(dev, y, a, b, extras, ta, tb, alpha, beta);
}

/* cuBLASLt has no products with a dimension of 0. */
static bool is_empty(Device *dev, Tensor y, Tensor a, bool ta, float beta)
{
    int64_t k = ta ? rows_of(a) : cols_of(a);
    if (rows_of(y) > 0 && cols_of(y) > 0 && k > 0)
        return false;
    if (beta == 0)
        gpu_fill(dev, y, 0);
    else
        gpu_scale(dev, y, y, beta);
    return true;
}

void gpu_gemm(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta)
{
    if (!is_empty(dev, y, a, ta, beta))
        product(dev, y, a, b, {}, ta, tb, alpha, beta);
}

/* The bias as cuBLASLt asks for it: in the dtype `wanted`, to which another one, such as f32 under bf16, is rounded
 * in the memory at `room`, and aligned. */
static const void *bias_as(Device *dev, Tensor b, DType wanted, void *room)
{
    if (b.rank == 0 || (b.dtype == wanted && alignment(b.p) == MOST_ALIGN))
        return b.p;
    Tensor rounded = b;
    rounded.p = room;
    rounded.dtype = wanted;
    gpu_copy(dev, rounded, b);
    return rounded.p;
}

/* Bytes of scratch memory for a bias, a multiple of MOST_ALIGN. */
static size_t bias_bytes(Tensor b)
{
    return b.rank ? ((size_t)cols_of(b) * sizeof(float) + MOST_ALIGN - 1) / MOST_ALIGN * MOST_ALIGN : 0;
}

void gpu_linear(Device *dev, Tensor y, Tensor x, Tensor w, Tensor b, float scale)
{
    if (is_empty(dev, y, x, false, 0))
        return b.rank ? gpu_bias_add(dev, y, y, b) : (void)0;
    void *room = b.rank ? gpu_scratch(gpu_of(dev), bias_bytes(b)) : NULL;
    product(dev, y, x, w, { bias_as(dev, b, y.dtype, room), NULL, NULL }, false, true, scale, 0);
}

/* Copies the rows of one matrix to another of the same dtype and columns. */
static void copy_rows(Device *dev, Tensor to, Tensor from)
{
    size_t bytes = dtype_bytes(from.dtype);
    gpu_copy_rows(gpu_of(dev), to.p, (size_t)to.ld * bytes, from.p, (size_t)from.ld * bytes,
                  (size_t)cols_of(from) * bytes, (size_t)rows_of(from));
}

/* The last rows of an FP8 product, fewer than FP8_UNIT: a product of FP8_UNIT rows in scratch memory at `room`, whose
 * other rows hold anything and are dropped. */
static void product_of_last_rows(Device *dev, Tensor y, Tensor a, Tensor b, const Extras &extras, float beta,
                                 char *room)
{
    Tensor y_all = tensor_matrix(room, y.dtype, FP8_UNIT, cols_of(y));
    Tensor a_all = tensor_matrix(room + FP8_UNIT * (size_t)cols_of(y) * sizeof(float), a.dtype, FP8_UNIT, cols_of(a));
    Tensor y_rows = tensor_slice_rows(y_all, 0, rows_of(y));
    copy_rows(dev, tensor_slice_rows(a_all, 0, rows_of(a)), a);
    if (beta != 0)
        copy_rows(dev, y_rows, y);
    product(dev, y_all, a_all, b, extras, false, true, 1, beta);
    copy_rows(dev, y, y_rows);
}

/* cuBLASLt's FP8 needs dimensions of multiples of 16. Layers ensure it of widths; a batch has any number of rows. */
void gpu_fp8_linear(Device *dev, Tensor y, Tensor a, Tensor b, Tensor bias, Tensor a_inverse, Tensor b_inverse,
                    float beta)
{
    if (is_empty(dev, y, a, false, beta))
        return bias.rank ? gpu_bias_add(dev, y, y, bias) : (void)0;
    int64_t rest = rows_of(y) % FP8_UNIT, whole = rows_of(y) - rest;
    size_t of_rest = rest ? FP8_UNIT * ((size_t)cols_of(y) * sizeof(float) + (size_t)cols_of(a)) : 0;
    size_t bytes = bias_bytes(bias) + of_rest;
    char *room = bytes ? (char *)gpu_scratch(gpu_of(dev), bytes) : NULL;
    const Extras extras = { bias_as(dev, bias, bias_dtype(a.dtype, y.dtype), room), a_inverse.p, b_inverse.p };
    if (whole > 0)
        product(dev, tensor_slice_rows(y, 0, whole), tensor_slice_rows(a, 0, whole), b, extras, false, true, 1, beta);
    if (rest > 0)
        product_of_last_rows(dev, tensor_slice_rows(y, whole, rest), tensor_slice_rows(a, whole, rest), b, extras, beta,
                             room + bias_bytes(bias));
}
