/* lt.cc: a fake of cuBLASLt: products are queued on a stream of the fake CUDA runtime, and computed by plain loops.
 * It refuses what NVIDIA's documentation of cublasLtMatmul excludes: matrices that do not fit together, dtypes that no
 * row of its table has (type_rows), and what refused_form lists, of FP8 above all; pointers less aligned than was
 * promised when the algorithm was chosen; a bias that is not aligned to 16 bytes, or a workspace that is not.
 *
 * It knows several algorithms for each product (algorithms), which differ in their times by the clock of the stream,
 * and in their bits, those of a product that is added to y apart.
 *
 * LOAM_FAKE_LT_STATE: the only algorithm that is found cannot be used, which its state alone tells. */
#include "shim/cuda/cublasLt.h"
#include "shim/cuda/queue.h"

extern "C" {
#include "base/check.h"
#include "shim/product.h"
}

#include <map>
#include <stdlib.h>
#include <vector>

typedef std::map<int, std::vector<char>> Attributes;

enum { ALIGN = 16 }; /* bytes: of a bias, of a workspace, of pointers to FP8 */

const char *fake_lt_refused;

/* Algorithms in the order in which cuBLASLt guesses them. */
static const struct {
    float milliseconds;
    bool other_bits, other_sums, usable; /* of the first number differ the last bit; the sign, if y is added to */
} algorithms[] = {
    { 5, false, false, true }, { 4, false, false, true },  { 2, true, false, true },
    { 3, false, false, true }, { 1, false, false, false }, { 1, false, true, true },
};
enum { ALGORITHMS = sizeof algorithms / sizeof *algorithms };

struct FakeLt {
    int device;
};
struct FakeDesc {
    Attributes set;
    cublasComputeType_t sums;
};
struct FakeLayout {
    cudaDataType_t type;
    uint64_t rows, cols; /* by columns: element (i, j) is number j · ld + i */
    int64_t ld;
};
struct FakePreference {
    Attributes set;
};

template <class T> static T get(const Attributes &set, int attribute, T otherwise)
{
    auto found = set.find(attribute);
    if (found == set.end())
        return otherwise;
    CHECK(found->second.size() == sizeof(T), "attribute %d has %zu bytes, not %zu", attribute, found->second.size(),
          sizeof(T));
    memcpy(&otherwise, found->second.data(), sizeof(T));
    return otherwise;
}

static cublasStatus_t keep(Attributes *set, int attribute, const void *value, size_t bytes)
{
    (*set)[attribute] = std::vector<char>((const char *)value, (const char *)value + bytes);
    return CUBLAS_STATUS_SUCCESS;
}

static DType dtype_of(cudaDataType_t type)
{
    switch (type) {
    case CUDA_R_32F:
        return DT_F32;
    case CUDA_R_16F:
        return DT_F16;
    case CUDA_R_16BF:
        return DT_BF16;
    case CUDA_R_8F_E4M3:
        return DT_E4M3;
    case CUDA_R_8F_E5M2:
        return DT_E5M2;
    }
    CHECK(false, "type %d", (int)type);
    return DT_F32;
}

static bool is_fp8(const FakeLayout *layout)
{
    return layout->type == CUDA_R_8F_E4M3 || layout->type == CUDA_R_8F_E5M2;
}

/* A matrix by columns is its transpose by rows. */
static Tensor by_rows(const void *p, const FakeLayout *layout)
{
    Tensor t = tensor_matrix((void *)p, dtype_of(layout->type), (int64_t)layout->cols, (int64_t)layout->rows);
    t.ld = layout->ld;
    return t;
}

static size_t bytes_of(const FakeLayout *layout)
{
    return ((size_t)(layout->cols - 1) * (size_t)layout->ld + layout->rows) * dtype_bytes(dtype_of(layout->type));
}

static bool transposed(const FakeDesc *desc, cublasLtMatmulDescAttributes_t which)
{
    return get(desc->set, which, CUBLAS_OP_N) == CUBLAS_OP_T;
}

/* D = op(A) op(B), (m,k) (k,n). */
static bool fit(const FakeDesc *desc, const FakeLayout *a, const FakeLayout *b, const FakeLayout *d)
{
    bool ta = transposed(desc, CUBLASLT_MATMUL_DESC_TRANSA), tb = transposed(desc, CUBLASLT_MATMUL_DESC_TRANSB);
    bool whole = a->ld >= (int64_t)a->rows && b->ld >= (int64_t)b->rows && d->ld >= (int64_t)d->rows;
    return whole && d->rows > 0 && d->cols > 0 && (ta ? a->cols : a->rows) == d->rows &&
           (tb ? b->rows : b->cols) == d->cols && (ta ? a->rows : a->cols) == (tb ? b->cols : b->rows);
}

static bool same_layout(const FakeLayout *a, const FakeLayout *b)
{
    return a->type == b->type && a->rows == b->rows && a->cols == b->cols && a->ld == b->ld;
}

static bool is_fast(const FakeDesc *desc)
{
    return get(desc->set, CUBLASLT_MATMUL_DESC_FAST_ACCUM, (int8_t)0) != 0;
}

/* The dtypes of products that cuBLASLt has: D (and C) of the first by the second, with a bias of the last. Every row is
 * summed in f32. */
static const struct {
    cudaDataType_t a, b, d, bias;
} type_rows[] = {
    { CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F },
    { CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F },
    { CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUDA_R_32F },
    { CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF },
    { CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUDA_R_32F },
    { CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_16BF },
    { CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16F, CUDA_R_16F },
    { CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_32F, CUDA_R_16BF },
    { CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_16BF, CUDA_R_16BF },
    { CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_16F, CUDA_R_16F },
    { CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_32F, CUDA_R_16BF },
    { CUDA_R_8F_E5M2, CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_16BF },
    { CUDA_R_8F_E5M2, CUDA_R_8F_E4M3, CUDA_R_16F, CUDA_R_16F },
    { CUDA_R_8F_E5M2, CUDA_R_8F_E4M3, CUDA_R_32F, CUDA_R_16BF },
};

static bool has_bias(const FakeDesc *desc)
{
    return get(desc->set, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT) == CUBLASLT_EPILOGUE_BIAS;
}

static bool types_exist(const FakeDesc *desc, const FakeLayout *a, const FakeLayout *b, const FakeLayout *d)
{
    for (const auto &row : type_rows)
        if (row.a == a->type && row.b == b->type && row.d == d->type)
            return !has_bias(desc) || get(desc->set, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, d->type) == row.bias;
    return false;
}

static bool has_scale(const FakeDesc *desc)
{
    return get(desc->set, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, (const void *)NULL) ||
           get(desc->set, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, (const void *)NULL);
}

/* Why FP8 factors are not multiplied; NULL if they are. Ada, Hopper and GeForce Blackwell take only Aᵀ B; dimensions,
 * rows and pointers are multiples of 16 bytes. */
static const char *refused_fp8(const FakeDesc *desc, const FakeLayout *a, const FakeLayout *b, const FakeLayout *d)
{
    enum { UNIT = 16, LEAST_COMPUTE = 89 };
    const char *compute = getenv("LOAM_FAKE_GPU");
    int64_t d_bytes = (int64_t)dtype_bytes(dtype_of(d->type));
    if (compute && atoi(compute) < LEAST_COMPUTE)
        return "a GPU without FP8";
    if (!transposed(desc, CUBLASLT_MATMUL_DESC_TRANSA) || transposed(desc, CUBLASLT_MATMUL_DESC_TRANSB))
        return "another form than transposed A by B";
    if (a->rows % UNIT || a->cols % UNIT || b->cols % UNIT)
        return "a dimension that is no multiple of 16";
    if (a->ld % UNIT || b->ld % UNIT || d->ld * d_bytes % UNIT)
        return "columns that are not 16 bytes apart";
    return desc->sums == CUBLAS_COMPUTE_32F ? NULL : "sums in another type than f32";
}

/* Why cuBLASLt has no algorithm for a product whose matrices fit together; NULL if it has. */
static const char *refused_form(const FakeDesc *desc, const FakeLayout *a, const FakeLayout *b, const FakeLayout *d)
{
    if (!types_exist(desc, a, b, d))
        return "dtypes that no row of the table has";
    if (is_fp8(a))
        return refused_fp8(desc, a, b, d);
    if (is_fast(desc))
        return "fast accumulation of others than FP8";
    if (has_scale(desc))
        return "scales of others than FP8";
    return desc->sums == CUBLAS_COMPUTE_32F_FAST_TF32 && a->type != CUDA_R_32F ? "TF32 of others than f32" : NULL;
}

size_t cublasLtGetVersion(void)
{
    return 130201;
}

const char *cublasLtGetStatusString(cublasStatus_t status)
{
    return status == CUBLAS_STATUS_NOT_SUPPORTED ? "CUBLAS_STATUS_NOT_SUPPORTED" : "CUBLAS_STATUS_INVALID_VALUE";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *lt)
{
    *lt = new FakeLt{ fake_chosen(__func__, -1) };
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lt)
{
    delete lt;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t sums, cudaDataType_t scale)
{
    CHECK(scale == CUDA_R_32F, "alpha and beta of type %d", (int)scale);
    *desc = new FakeDesc{ {}, sums };
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    delete desc;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t bytes)
{
    return keep(&desc->set, attribute, value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType_t type, uint64_t rows,
                                          uint64_t cols, int64_t ld)
{
    *layout = new FakeLayout{ type, rows, cols, ld };
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    delete layout;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    *preference = new FakePreference();
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    delete preference;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
                                                    size_t bytes)
{
    return keep(&preference->set, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                              cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                              cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference,
                                              int wanted, cublasLtMatmulHeuristicResult_t *found, int *n)
{
    *n = 0;
    if (!fit(desc, a, b, d) || !same_layout(c, d))
        return CUBLAS_STATUS_INVALID_VALUE;
    fake_counts.choices++;
    const char *why = refused_form(desc, a, b, d);
    const Attributes &set = preference->set;
    found->algo.workspace = get(set, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, (uint64_t)0);
    for (int i = 0; i < 4; i++) {
        found->algo.align[i] = get(set, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i, (uint32_t)256);
        if (is_fp8(a) && found->algo.align[i] < ALIGN)
            why = "a pointer of FP8 that is not aligned to 16 bytes";
    }
    if (why) {
        fake_lt_refused = why;
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
    *n = wanted < ALGORITHMS ? wanted : ALGORITHMS;
    for (int i = *n - 1; i >= 0; i--) {
        found[i].algo = found->algo;
        found[i].algo.number = i;
        found[i].state = algorithms[i].usable && getenv("LOAM_FAKE_LT_STATE") == NULL ? CUBLAS_STATUS_SUCCESS
                                                                                      : CUBLAS_STATUS_NOT_SUPPORTED;
    }
    return CUBLAS_STATUS_SUCCESS;
}

static bool is_aligned(const void *p, uint32_t align)
{
    return (uintptr_t)p % align == 0;
}

/* Whether a matrix has columns of other lengths or distances than multiples of 16 bytes, or does not begin at one: then
 * cuBLASLt's algorithms for tensor cores that read 16 bytes at once are out. */
static bool is_slow(const void *p, const FakeLayout *layout)
{
    uint64_t bytes = dtype_bytes(dtype_of(layout->type));
    return !is_aligned(p, ALIGN) || layout->rows * bytes % ALIGN || (uint64_t)layout->ld * bytes % ALIGN;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t lt, cublasLtMatmulDesc_t desc, const void *alpha, const void *a,
                              cublasLtMatrixLayout_t a_layout, const void *b, cublasLtMatrixLayout_t b_layout,
                              const void *beta, const void *c, cublasLtMatrixLayout_t, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_bytes, cudaStream_t stream)
{
    FakeCall call;
    const float by = *(const float *)alpha, more = *(const float *)beta;
    const Attributes &set = desc->set;
    bool ta = transposed(desc, CUBLASLT_MATMUL_DESC_TRANSA), tb = transposed(desc, CUBLASLT_MATMUL_DESC_TRANSB);
    fake_chosen(__func__, lt->device);
    CHECK(stream && stream->device == lt->device, "a product on another GPU's stream, or the default stream");
    CHECK(c == d, "a product that adds to other memory than it writes");
    fake_check_device("a factor", lt->device, a, bytes_of(a_layout));
    fake_check_device("a factor", lt->device, b, bytes_of(b_layout));
    fake_check_device("a product", lt->device, d, bytes_of(d_layout));
    fake_check_device("a workspace", lt->device, workspace, workspace_bytes);
    if (!fit(desc, a_layout, b_layout, d_layout) || algo->workspace > workspace_bytes ||
        !is_aligned(a, algo->align[0]) || !is_aligned(b, algo->align[1]) || !is_aligned(d, algo->align[3]) ||
        !is_aligned(workspace, ALIGN) || refused_form(desc, a_layout, b_layout, d_layout))
        return CUBLAS_STATUS_INVALID_VALUE;
    Tensor left = by_rows(b, b_layout), right = by_rows(a, a_layout), y = by_rows(d, d_layout), bias = NO_TENSOR;
    if (has_bias(desc)) {
        DType dtype = dtype_of(get(set, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, d_layout->type));
        bias = tensor_vector((void *)get(set, CUBLASLT_MATMUL_DESC_BIAS_POINTER, (const void *)NULL), dtype,
                             (int64_t)d_layout->rows);
        fake_check_device("a bias", lt->device, bias.p, d_layout->rows * dtype_bytes(dtype));
        if (!is_aligned(bias.p, ALIGN))
            return CUBLAS_STATUS_INVALID_VALUE;
    }
    const float *a_scale = get(set, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, (const float *)NULL);
    const float *b_scale = get(set, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, (const float *)NULL);
    for (const float *scale : { a_scale, b_scale })
        if (scale)
            fake_check_device("a scale", lt->device, scale, sizeof *scale);
    if (!is_aligned(a_scale, ALIGN) || !is_aligned(b_scale, ALIGN)) /* seen on an H200, cuBLASLt 13.1 */
        return CUBLAS_STATUS_NOT_SUPPORTED;
    CHECK(algorithms[algo->number].usable, "algorithm %d cannot be used", algo->number);
    fake_count(stream, &FakeCounts::products);
    fake_counts.algorithm = algo->number;
    fake_counts.fast += is_fast(desc);
    if (is_slow(a, a_layout) || is_slow(b, b_layout) || is_slow(d, d_layout))
        fake_counts.slow += (double)(d_layout->rows * d_layout->cols * (ta ? a_layout->rows : a_layout->cols));
    fake_enqueue_work(stream, [=, number = algo->number] {
        double scale = (double)by * (a_scale ? (double)*a_scale : 1) * (b_scale ? (double)*b_scale : 1);
        shim_product(y, left, right, bias, bias.dtype, tb, ta, scale, (double)more);
        stream->clock += algorithms[number].milliseconds;
        if (algorithms[number].other_bits)
            *(unsigned char *)y.p ^= 1;
        if (algorithms[number].other_sums && more != 0)
            ((unsigned char *)y.p)[dtype_bytes(y.dtype) - 1] ^= 0x80;
    });
    return CUBLAS_STATUS_SUCCESS;
}
