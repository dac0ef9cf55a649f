/* norm.cu: RMSNorm and LayerNorm. */
#include "device/cuda/kernels/columns.h"
#include "device/cuda/kernels/kernels.h"

namespace
{

/* Forward: one warp per row, or one block per row if it is longer than WARP_ROW. */
enum { WARP_ROW = 1024 };

Shape row_shape(int64_t rows, int64_t cols)
{
    if (cols <= WARP_ROW)
        return { (unsigned)ceil_div(rows, ROW_GROUPS), 1, WARP, ROW_GROUPS };
    int64_t threads = ceil_div(ceil_div(cols, VEC), WARP) * WARP;
    return { (unsigned)rows, 1, (unsigned)least(threads, MOST_ROW_THREADS), 1 };
}

struct Norm {
    View y, x, w, b;
    float *mean, *rstd; /* mean is NULL for RMSNorm */
    float eps;
};

/* Σ (x - mean)² over the row. */
__device__ inline float sum_of_squares(const Norm &norm, int64_t row, int64_t cols, float mean, PerWarp<float> *parts)
{
    float sum = 0;
    for (int64_t col = threadIdx.x * VEC; col < cols; col += blockDim.x * VEC) {
        float x[VEC];
        int n = vec_length(cols, col);
        load(x, norm.x, row, col, n);
        UNROLL for (int i = 0; i < VEC; i++) if (i < n) sum += (x[i] - mean) * (x[i] - mean);
    }
    return row_sum(sum, parts);
}

__device__ inline float mean_of(const Norm &norm, int64_t row, int64_t cols, PerWarp<float> *parts)
{
    float sum = 0;
    for (int64_t col = threadIdx.x * VEC; col < cols; col += blockDim.x * VEC) {
        float x[VEC];
        load(x, norm.x, row, col, vec_length(cols, col));
        UNROLL for (int i = 0; i < VEC; i++) sum += x[i];
    }
    return row_sum(sum, parts) / (float)cols;
}

__global__ void __launch_bounds__(MOST_ROW_THREADS) norm_fwd_kernel(Norm norm, int64_t rows, int64_t cols)
{
    PerWarp<float> *parts = block_shared<PerWarp<float>>();
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows)
        return;
    float mean = norm.mean ? mean_of(norm, row, cols, parts) : 0;
    float variance = sum_of_squares(norm, row, cols, mean, parts) / (float)cols, rstd = 1 / sqrtf(variance + norm.eps);
    if (threadIdx.x == 0) {
        norm.rstd[row] = rstd;
        if (norm.mean)
            norm.mean[row] = mean;
    }
    for (int64_t col = threadIdx.x * VEC; col < cols; col += blockDim.x * VEC) {
        float x[VEC], w[VEC], b[VEC] = {};
        int n = vec_length(cols, col);
        load(x, norm.x, row, col, n);
        load(w, norm.w, 0, col, n);
        if (norm.b.p)
            load(b, norm.b, 0, col, n);
        UNROLL for (int i = 0; i < VEC; i++) x[i] = (x[i] - mean) * rstd * w[i] + b[i];
        store(norm.y, row, col, n, x);
    }
}

void norm_fwd(Device *dev, const Norm &norm, Tensor x)
{
    if (rows_of(x) > 0)
        launch(gpu_of(dev), row_shape(rows_of(x), cols_of(x)), norm_fwd_kernel, norm, rows_of(x), cols_of(x));
}

/* With n = (x − mean) r and g = w dy: dx = r (g − mean(g) − n mean(g n)) + residual; the sums over rows of dy n and of
 * dy are the gradients of gain and bias. RMSNorm has no mean of x and no term mean(g). */
template <bool LAYER> struct NormBwd {
    typedef float Sum;
    enum { ROW_SUMS = LAYER ? 2 : 1, COLUMN_SUMS = LAYER ? 2 : 1 };
    View dx, dy, x, w, residual;
    const float *mean, *rstd;
    int64_t cols;

    __device__ void first(int64_t row, int64_t col, int n, float *sums) const
    {
        float a[VEC], g[VEC], gain[VEC], m = LAYER ? mean[row] : 0, r = rstd[row];
        load(a, x, row, col, n);
        load(g, dy, row, col, n);
        load(gain, w, 0, col, n);
        UNROLL for (int i = 0; i < VEC; i++)
        {
            sums[0] += g[i] * gain[i] * ((a[i] - m) * r);
            if (LAYER)
                sums[ROW_SUMS - 1] += g[i] * gain[i];
        }
    }

    __device__ void second(int64_t row, int64_t col, int n, const float *sums, float (*columns)[VEC]) const
    {
        float a[VEC], g[VEC], gain[VEC], out[VEC] = {}, m = LAYER ? mean[row] : 0, r = rstd[row];
        float mean_gn = sums[0] / (float)cols, mean_g = LAYER ? sums[ROW_SUMS - 1] / (float)cols : 0;
        load(a, x, row, col, n);
        load(g, dy, row, col, n);
        load(gain, w, 0, col, n);
        if (residual.p)
            load(out, residual, row, col, n);
        UNROLL for (int i = 0; i < VEC; i++)
        {
            float normed = (a[i] - m) * r;
            columns[0][i] += g[i] * normed;
            if (LAYER)
                columns[COLUMN_SUMS - 1][i] += g[i];
            out[i] += r * (gain[i] * g[i] - mean_g - normed * mean_gn);
        }
        store(dx, row, col, n, out);
    }
};

template <bool LAYER> void norm_bwd(Device *dev, const NormBwd<LAYER> &pass, Tensor dw, Tensor db, Tensor x, float beta)
{
    Gpu *gpu = gpu_of(dev);
    ColumnSums<float> sums = columns(gpu, pass, rows_of(x), cols_of(x));
    fold(gpu, sums, 0, fold_into(dw, beta));
    if (db.rank)
        fold(gpu, sums, 1, fold_into(db, beta));
}

} // namespace

void gpu_rmsnorm_fwd(Device *dev, Tensor y, Tensor rstd, Tensor x, Tensor w, float eps)
{
    norm_fwd(dev, { view(y), view(x), view(w), view(NO_TENSOR), NULL, (float *)rstd.p, eps }, x);
}

void gpu_rmsnorm_bwd(Device *dev, Tensor dx, Tensor dw, Tensor dy, Tensor x, Tensor w, Tensor rstd, Tensor residual,
                     float beta)
{
    NormBwd<false> pass = { view(dx),  view(dy), view(x), view(w), view(residual), NULL, (const float *)rstd.p,
                            cols_of(x) };
    norm_bwd(dev, pass, dw, NO_TENSOR, x, beta);
}

void gpu_layernorm_fwd(Device *dev, Tensor y, Tensor mean, Tensor rstd, Tensor x, Tensor w, Tensor b, float eps)
{
    norm_fwd(dev, { view(y), view(x), view(w), view(b), (float *)mean.p, (float *)rstd.p, eps }, x);
}

void gpu_layernorm_bwd(Device *dev, Tensor dx, Tensor dw, Tensor db, Tensor dy, Tensor x, Tensor w, Tensor mean,
                       Tensor rstd, Tensor residual, float beta)
{
    NormBwd<true> pass = {
        view(dx), view(dy), view(x), view(w), view(residual), (const float *)mean.p, (const float *)rstd.p, cols_of(x)
    };
    norm_bwd(dev, pass, dw, db, x, beta);
}
