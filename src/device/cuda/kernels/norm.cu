/* norm.cu: RMSNorm and LayerNorm, also together with the residual sum before them. */
#include "device/cuda/kernels/columns.h"
#include "device/cuda/kernels/kernels.h"
#include "device/cuda/kernels/mask.h"

namespace
{

struct Norm {
    View y, x, w, b;
    float *mean, *rstd; /* mean is NULL for RMSNorm */
    float eps;
    View sum, residual; /* with a sum, what is normed is residual + mask · x, which is also written to it */
    Mask mask;
};

/* Rounds numbers as they lie in memory of `v`. */
__device__ inline void round_as(const View &v, float (&x)[VEC])
{
    if (v.dtype != DT_F32)
        UNROLL for (int i = 0; i < VEC; i += 2) unpack(x + i, pack(x + i, v.dtype), v.dtype);
}

/* The numbers that are normed, rounded as they lie in memory. Writes them to the sum. */
template <bool MASKED>
__device__ inline void normed_first(float (&x)[VEC], const Norm &norm, int64_t row, int64_t col, int n)
{
    Bits bits = fetch(norm.x, row, col, n);
    if (!norm.sum.p)
        return convert(x, bits, norm.x);
    Bits more = fetch(norm.residual, row, col, n);
    float factors[VEC], add[VEC];
    UNROLL for (int i = 0; i < VEC; i++) factors[i] = 1;
    if (MASKED)
        mask_hidden(factors, norm.mask, row, col);
    convert(x, bits, norm.x);
    convert(add, more, norm.residual);
    UNROLL for (int i = 0; i < VEC; i++) x[i] = masked_sum(x[i], factors[i], add[i]);
    store(norm.sum, row, col, n, x);
    round_as(norm.sum, x);
}

/* The same numbers once more. */
__device__ inline void normed_again(float (&x)[VEC], const Norm &norm, int64_t row, int64_t col, int n)
{
    load(x, norm.sum.p ? norm.sum : norm.x, row, col, n);
}

/* A row of up to VEC numbers per thread stays in registers; a longer one is read again for each use. Without a mask 40
 * registers suffice, for 1,536 threads on a multiprocessor with the loads of a vector on its way each. */
template <bool MASKED>
__global__ void __launch_bounds__(MOST_ROW_THREADS, MASKED ? 2 : 3)
    norm_fwd_kernel(Norm norm, int64_t rows, int64_t cols)
{
    begin_kernel();
    RowSums<1> *shared = block_shared<RowSums<1>>();
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y, width = row < rows ? cols : 0;
    int64_t first = threadIdx.x * VEC, span = blockDim.x * VEC;
    bool again = span < cols;
    float x[VEC], sum = 0, squares = 0, mean = 0;

    for (int64_t col = first; col < width; col += span) {
        normed_first<MASKED>(x, norm, row, col, vec_length(cols, col));
        UNROLL for (int i = 0; i < VEC; i++) sum += x[i], squares += x[i] * x[i];
    }
    if (norm.mean) {
        row_sums<1>(&sum, shared, 0);
        mean = sum / (float)cols;
        squares = 0;
        for (int64_t col = first; col < width; col += span) {
            int n = vec_length(cols, col);
            if (again)
                normed_again(x, norm, row, col, n);
            UNROLL for (int i = 0; i < VEC; i++) if (i < n) squares += (x[i] - mean) * (x[i] - mean);
        }
    }
    row_sums<1>(&squares, shared, 1);
    float rstd = 1 / sqrtf(squares / (float)cols + norm.eps);
    if (threadIdx.x == 0 && row < rows) {
        norm.rstd[row] = rstd;
        if (norm.mean)
            norm.mean[row] = mean;
    }
    for (int64_t col = first; col < width; col += span) {
        float w[VEC], b[VEC] = {};
        int n = vec_length(cols, col);
        if (again)
            normed_again(x, norm, row, col, n);
        load(w, norm.w, 0, col, n);
        if (norm.b.p)
            load(b, norm.b, 0, col, n);
        UNROLL for (int i = 0; i < VEC; i++) x[i] = (x[i] - mean) * rstd * w[i] + b[i];
        store(norm.y, row, col, n, x);
    }
}

void norm_fwd(Device *dev, const Norm &norm, Tensor x)
{
    int64_t threads = row_threads(cols_of(x)), groups = row_groups(threads);
    Shape shape = { (unsigned)ceil_div(rows_of(x), groups), 1, (unsigned)threads, (unsigned)groups };
    if (rows_of(x) > 0)
        launch(gpu_of(dev), shape, norm.mask.sample ? norm_fwd_kernel<true> : norm_fwd_kernel<false>, norm, rows_of(x),
               cols_of(x));
}

/* With n = (x − mean) r and g = w dy: dx = r (g − mean(g) − n mean(g n)) + residual; the sums over rows of dy n and of
 * dy are the gradients of gain and bias. RMSNorm has no mean of x and no term mean(g). */
template <bool LAYER> struct NormBwd {
    typedef float Sum;
    enum { ROW_SUMS = LAYER ? 2 : 1, COLUMN_SUMS = LAYER ? 2 : 1 };
    struct Held {
        float normed[VEC], d[VEC], gain[VEC], rstd;
        Bits residual;
    };
    View dx, dropped, dy, x, w, residual;
    const float *mean, *rstd;
    Mask mask;
    int64_t cols;

    __device__ Held hold(int64_t row, int64_t col, int n) const
    {
        Held held = {};
        Bits a = fetch(x, row, col, n), g = fetch(dy, row, col, n);
        if (residual.p)
            held.residual = fetch(residual, row, col, n);
        float m = LAYER ? mean[row] : 0;
        held.rstd = rstd[row];
        load(held.gain, w, 0, col, n);
        convert(held.normed, a, x);
        convert(held.d, g, dy);
        UNROLL for (int i = 0; i < VEC; i++) held.normed[i] = (held.normed[i] - m) * held.rstd;
        return held;
    }

    __device__ void first(const Held &held, float *sums, float (*columns)[VEC]) const
    {
        UNROLL for (int i = 0; i < VEC; i++)
        {
            sums[0] += held.d[i] * held.gain[i] * held.normed[i];
            columns[0][i] += held.d[i] * held.normed[i];
            if (LAYER) {
                sums[ROW_SUMS - 1] += held.d[i] * held.gain[i];
                columns[COLUMN_SUMS - 1][i] += held.d[i];
            }
        }
    }

    __device__ void second(const Held &held, int64_t row, int64_t col, int n, const float *sums) const
    {
        float out[VEC] = {}, mean_gn = sums[0] / (float)cols, mean_g = LAYER ? sums[ROW_SUMS - 1] / (float)cols : 0;
        if (residual.p)
            convert(out, held.residual, residual);
        UNROLL for (int i = 0; i < VEC; i++) out[i] +=
            held.rstd * (held.gain[i] * held.d[i] - mean_g - held.normed[i] * mean_gn);
        store(dx, row, col, n, out);
        if (!dropped.p)
            return;
        float factors[VEC];
        mask_hidden(factors, mask, row, col);
        round_as(dx, out);
        UNROLL for (int i = 0; i < VEC; i++) out[i] *= factors[i];
        store(dropped, row, col, n, out);
    }
};

/* The mask of an optional output; drop is NULL without it. */
Mask dropped_mask(const Dropout *drop)
{
    return drop ? mask_of(drop) : Mask{};
}

template <bool LAYER>
void norm_bwd(Device *dev, Tensor dx, Tensor dropped, Tensor dw, Tensor db, Tensor dy, Tensor x, Tensor w, Tensor mean,
              Tensor rstd, Tensor residual, float beta, const Dropout *drop)
{
    Gpu *gpu = gpu_of(dev);
    NormBwd<LAYER> pass = { view(dx),
                            view(dropped),
                            view(dy),
                            view(x),
                            view(w),
                            view(residual),
                            (const float *)mean.p,
                            (const float *)rstd.p,
                            dropped_mask(drop),
                            cols_of(x) };
    ColumnSums<float> sums = columns(gpu, pass, rows_of(x), cols_of(x));
    fold(gpu, sums, 0, fold_into(dw, beta));
    if (db.rank)
        fold(gpu, sums, 1, fold_into(db, beta));
}

} // namespace

void gpu_norm_fwd(Device *dev, Tensor y, Tensor mean, Tensor rstd, Tensor x, Tensor w, Tensor b, float eps)
{
    norm_fwd(dev, { view(y), view(x), view(w), view(b), (float *)mean.p, (float *)rstd.p, eps, {}, {}, {} }, x);
}

void gpu_sum_norm_fwd(Device *dev, Tensor y, Tensor mean, Tensor rstd, Tensor sum, Tensor x, Tensor residual, Tensor w,
                      Tensor b, float eps, const Dropout *drop)
{
    norm_fwd(dev,
             { view(y), view(x), view(w), view(b), (float *)mean.p, (float *)rstd.p, eps, view(sum), view(residual),
               mask_of(drop) },
             x);
}

void gpu_norm_bwd(Device *dev, Tensor dx, Tensor dropped, Tensor dw, Tensor db, Tensor dy, Tensor x, Tensor w,
                  Tensor mean, Tensor rstd, Tensor residual, float beta, const Dropout *drop)
{
    (mean.rank ? norm_bwd<true> : norm_bwd<false>)(dev, dx, dropped, dw, db, dy, x, w, mean, rstd, residual, beta,
                                                   drop);
}
