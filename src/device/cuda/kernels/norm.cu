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

/* A thread holds HELD vectors of a row, or reads the row again in each pass if it is longer than all threads hold. */
enum { HELD = 4 };

/* Reads the thread's vectors of the part of the row from column `part` on. */
__device__ inline void hold_part(Bits (&held)[HELD], const Norm &norm, int64_t row, int64_t cols, int64_t part)
{
    UNROLL for (int k = 0; k < HELD; k++)
    {
        int64_t col = part + (int64_t)(k * blockDim.x + threadIdx.x) * VEC;
        if (col < cols)
            held[k] = fetch(norm.x, row, col, vec_length(cols, col));
    }
}

/* Calls function(x, col, n) for the thread's vectors of a row; `held` has those of the row's first part. */
template <class Function>
__device__ inline void each_held(Bits (&held)[HELD], const Norm &norm, int64_t row, int64_t cols, Function function)
{
    int64_t span = (int64_t)blockDim.x * VEC * HELD;
    for (int64_t part = 0; part < cols; part += span) {
        if (cols > span)
            hold_part(held, norm, row, cols, part);
        UNROLL for (int k = 0; k < HELD; k++)
        {
            int64_t col = part + (int64_t)(k * blockDim.x + threadIdx.x) * VEC;
            float x[VEC];
            convert(x, held[k], norm.x);
            if (col < cols)
                function(x, col, vec_length(cols, col));
        }
    }
}

__global__ void __launch_bounds__(MOST_ROW_THREADS) norm_fwd_kernel(Norm norm, int64_t rows, int64_t cols)
{
    PerWarp<float> *parts = block_shared<PerWarp<float>>();
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    Bits held[HELD] = {};
    float mean = 0, squares = 0;
    if (row >= rows)
        return;
    hold_part(held, norm, row, cols, 0);
    if (norm.mean) {
        float sum = 0;
        each_held(held, norm, row, cols,
                  [&](const float(&x)[VEC], int64_t, int) { UNROLL for (int i = 0; i < VEC; i++) sum += x[i]; });
        mean = row_sum(sum, parts) / (float)cols;
    }
    each_held(held, norm, row, cols, [&](const float(&x)[VEC], int64_t, int n) {
        UNROLL for (int i = 0; i < VEC; i++) if (i < n) squares += (x[i] - mean) * (x[i] - mean);
    });
    float rstd = 1 / sqrtf(row_sum(squares, parts) / (float)cols + norm.eps);
    if (threadIdx.x == 0) {
        norm.rstd[row] = rstd;
        if (norm.mean)
            norm.mean[row] = mean;
    }
    each_held(held, norm, row, cols, [&](float(&x)[VEC], int64_t col, int n) {
        float w[VEC], b[VEC] = {};
        load(w, norm.w, 0, col, n);
        if (norm.b.p)
            load(b, norm.b, 0, col, n);
        UNROLL for (int i = 0; i < VEC; i++) x[i] = (x[i] - mean) * rstd * w[i] + b[i];
        store(norm.y, row, col, n, x);
    });
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
    struct Held {
        Bits x, dy, residual;
    };
    View dx, dy, x, w, residual;
    const float *mean, *rstd;
    int64_t cols;

    __device__ Held hold(int64_t row, int64_t col, int n) const
    {
        Held held = { fetch(x, row, col, n), fetch(dy, row, col, n), {} };
        if (residual.p)
            held.residual = fetch(residual, row, col, n);
        return held;
    }

    __device__ void first(const Held &held, int64_t row, int64_t col, int n, float *sums) const
    {
        float a[VEC], g[VEC], gain[VEC], m = LAYER ? mean[row] : 0, r = rstd[row];
        load(gain, w, 0, col, n);
        convert(a, held.x, x);
        convert(g, held.dy, dy);
        UNROLL for (int i = 0; i < VEC; i++)
        {
            sums[0] += g[i] * gain[i] * ((a[i] - m) * r);
            if (LAYER)
                sums[ROW_SUMS - 1] += g[i] * gain[i];
        }
    }

    __device__ void second(const Held &held, int64_t row, int64_t col, int n, const float *sums,
                           float (*columns)[VEC]) const
    {
        float a[VEC], g[VEC], gain[VEC], out[VEC], m = LAYER ? mean[row] : 0, r = rstd[row];
        float mean_gn = sums[0] / (float)cols, mean_g = LAYER ? sums[ROW_SUMS - 1] / (float)cols : 0;
        load(gain, w, 0, col, n);
        convert(a, held.x, x);
        convert(g, held.dy, dy);
        convert(out, held.residual, residual);
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
