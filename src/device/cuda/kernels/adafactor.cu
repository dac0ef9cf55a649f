/* adafactor.cu: Adafactor's four operations. */
#include "device/cuda/kernels/columns.h"
#include "device/cuda/kernels/each.h"
#include "device/cuda/kernels/kernels.h"
#include "device/cuda/kernels/total.h"

namespace
{

/* β2 of this update is 1 - more. */
__device__ inline double new_part(const AdafactorSpec &spec, const StepScalars *scalars)
{
    return pow((double)(scalars->update + spec.step_offset), -spec.decay_rate);
}

__device__ inline float moved(float moment, double more, float to)
{
    return (float)(1 - more) * moment + (float)more * to;
}

/* Factored: moves row towards the means of g² + eps1, and sums g² over each column. */
struct RowMoments {
    typedef float Sum;
    enum { ROW_SUMS = 1, COLUMN_SUMS = 1 };
    View g, row;
    int64_t cols;
    AdafactorSpec spec;
    const StepScalars *scalars;

    __device__ void first(int64_t r, int64_t col, int n, float *sums) const
    {
        float x[LOT], clip = scalars->clip;
        load(x, g, r, col, n);
        UNROLL for (int i = 0; i < LOT; i++) sums[0] += x[i] * clip * (x[i] * clip);
    }

    __device__ void second(int64_t r, int64_t col, int n, const float *sums, float (*columns)[LOT]) const
    {
        float x[LOT], clip = scalars->clip;
        load(x, g, r, col, n);
        UNROLL for (int i = 0; i < LOT; i++) columns[0][i] += x[i] * clip * (x[i] * clip);
        if (col == 0)
            move_row(r, sums[0]);
    }

    __device__ void move_row(int64_t r, float sum) const
    {
        float mean = sum / (float)cols + (float)spec.eps1;
        store_one(row, 0, r, moved(load_one(row, 0, r), new_part(spec, scalars), mean));
    }
};

struct Sum {
    View x;
    __device__ double operator()(int64_t row, int64_t col, int n) const
    {
        float a[LOT];
        double sum = 0;
        load(a, x, row, col, n);
        UNROLL for (int i = 0; i < LOT; i++) sum += (double)a[i];
        return sum;
    }
};

struct FullMoments {
    View v, g;
    AdafactorSpec spec;
    const StepScalars *scalars;
    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        float x[LOT], moment[LOT], clip = scalars->clip;
        double more = new_part(spec, scalars);
        load(x, g, row, col, n);
        load(moment, v, row, col, n);
        UNROLL for (int i = 0; i < LOT; i++) moment[i] =
            moved(moment[i], more, x[i] * clip * (x[i] * clip) + (float)spec.eps1);
        store(v, row, col, n, moment);
    }
};

__global__ void columns_moments_kernel(View col, const double *sums, int64_t n, AdafactorSpec spec,
                                       const StepScalars *scalars)
{
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j < n)
        store_one(col, 0, j,
                  moved(load_one(col, 0, j), new_part(spec, scalars),
                        (float)(sums[j] / (double)spec.rows) + (float)spec.eps1));
}

/* u = g / √v, or factored g / √(row · col / mean of row). */
struct Direction {
    View g, v, row, col;
    const double *row_sum;
    double rows;
    const StepScalars *scalars;

    __device__ void operator()(float (&u)[LOT], int64_t r, int64_t c, int n) const
    {
        float moment[LOT], factor = scalars->clip;
        load(u, g, r, c, n);
        if (v.p) {
            load(moment, v, r, c, n);
        } else {
            factor *= (float)(1 / sqrt((double)load_one(row, 0, r) / (*row_sum / rows)));
            load(moment, col, 0, c, n);
        }
        UNROLL for (int i = 0; i < LOT; i++) u[i] = i < n ? u[i] * factor / sqrtf(moment[i]) : 0;
    }
};

Direction direction(Tensor row, Tensor col, Tensor row_sum, Tensor v, Tensor g, const AdafactorSpec *spec,
                    const StepScalars *scalars)
{
    return { view(g), view(v), view(row), view(col), (const double *)row_sum.p, (double)spec->rows, scalars };
}

struct Size {
    Direction direction;
    __device__ double operator()(int64_t row, int64_t col, int n) const
    {
        float u[LOT];
        double sum = 0;
        direction(u, row, col, n);
        UNROLL for (int i = 0; i < LOT; i++) sum += (double)u[i] * (double)u[i];
        return sum;
    }
};

/* w = keep w - s, s = step u, or the momentum of step u. */
struct Step {
    Direction direction;
    View w, rounded, m;
    const double *squares, *size;
    AdafactorSpec spec;

    __device__ void operator()(int64_t row, int64_t col, int n) const
    {
        float u[LOT], weights[LOT], momentum[LOT];
        double count = (double)spec.rows * (double)spec.cols, alpha = direction.scalars->lr, clip = 1;
        if (spec.scale_parameter)
            alpha *= fmax(spec.eps2, sqrt(*squares / count));
        if (spec.clip_threshold > 0)
            clip = fmax(1.0, sqrt(*size / count) / spec.clip_threshold);
        float keep = (float)(1 - spec.weight_decay * (spec.decay_by_lr ? alpha : 1)), step = (float)(alpha / clip);
        float beta1 = (float)spec.beta1, new1 = (float)(1 - spec.beta1);
        direction(u, row, col, n);
        load(weights, w, row, col, n);
        if (m.p)
            load(momentum, m, row, col, n);
        UNROLL for (int i = 0; i < LOT; i++)
        {
            float s = step * u[i];
            if (m.p)
                momentum[i] = s = beta1 * momentum[i] + new1 * s;
            weights[i] = keep * weights[i] - s;
        }
        if (m.p)
            store(m, row, col, n, momentum);
        store(w, row, col, n, weights);
        if (rounded.p)
            store(rounded, row, col, n, weights);
    }
};

} // namespace

void gpu_adafactor_moments(Device *dev, Tensor row, Tensor col_sums, Tensor row_sum, Tensor v, Tensor g,
                           const AdafactorSpec *spec, const StepScalars *scalars)
{
    int64_t rows = rows_of(g), cols = cols_of(g);
    Gpu *gpu = gpu_of(dev);
    if (!row.rank)
        return each_lot(dev, g, FullMoments{ view(v), view(g), *spec, scalars });
    if (rows == 0 || cols == 0)
        return;
    RowMoments moments = { view(g), view(row), cols, *spec, scalars };
    fold(gpu, columns(gpu, moments, rows, cols), 0, fold_into(col_sums, 1));
    total(dev, 1, rows, Sum{ view(row) }, (double *)row_sum.p, 1);
}

void gpu_adafactor_columns(Device *dev, Tensor col, Tensor col_sums, const AdafactorSpec *spec,
                           const StepScalars *scalars)
{
    enum { THREADS = 128 };
    Shape shape = { (unsigned)ceil_div(cols_of(col), THREADS), 1, THREADS, 1 };
    if (cols_of(col) > 0)
        launch(gpu_of(dev), shape, columns_moments_kernel, view(col), (const double *)col_sums.p, cols_of(col), *spec,
               scalars);
}

void gpu_adafactor_size(Device *dev, Tensor size, Tensor row, Tensor col, Tensor row_sum, Tensor v, Tensor g,
                        const AdafactorSpec *spec, const StepScalars *scalars)
{
    total(dev, rows_of(g), cols_of(g), Size{ direction(row, col, row_sum, v, g, spec, scalars) }, (double *)size.p, 1);
}

void gpu_adafactor(Device *dev, Tensor w, Tensor rounded, Tensor m, Tensor row, Tensor col, Tensor row_sum, Tensor v,
                   Tensor g, Tensor squares, Tensor size, const AdafactorSpec *spec, const StepScalars *scalars)
{
    each_lot(dev, w,
             Step{ direction(row, col, row_sum, v, g, spec, scalars), view(w), view(rounded), view(m),
                   (const double *)squares.p, (const double *)size.p, *spec });
}
