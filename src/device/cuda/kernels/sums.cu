/* sums.cu: sums over rows, over whole tensors, and of sums. */
#include "device/cuda/kernels/columns.h"
#include "device/cuda/kernels/total.h"

namespace
{

template <class T> struct SumColumns {
    typedef T Sum;
    enum { ROW_SUMS = 0, COLUMN_SUMS = 1 };
    typedef Bits Held;
    View x;
    __device__ Held hold(int64_t row, int64_t col, int n) const
    {
        return fetch(x, row, col, n);
    }
    __device__ void first(const Held &held, float *, T (*columns)[VEC]) const
    {
        float a[VEC];
        convert(a, held, x);
        UNROLL for (int i = 0; i < VEC; i++) columns[0][i] += (T)a[i];
    }
    __device__ void second(const Held &, int64_t, int64_t, int, const float *) const
    {
    }
};

template <class T> void sum_columns(Device *dev, Tensor sum, Tensor x, float beta)
{
    Gpu *gpu = gpu_of(dev);
    if (cols_of(x) > 0)
        fold(gpu, columns(gpu, SumColumns<T>{ view(x) }, rows_of(x), cols_of(x)), 0, fold_into(sum, beta));
}

struct Squares {
    View x;
    __device__ double operator()(int64_t row, int64_t col, int n) const
    {
        float a[VEC];
        double sum = 0;
        load(a, x, row, col, n);
        UNROLL for (int i = 0; i < VEC; i++) sum += (double)a[i] * (double)a[i];
        return sum;
    }
};

__global__ void total_add_kernel(double *out, const double *x, int64_t n)
{
    begin_kernel();
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] += x[i];
}

} // namespace

void gpu_column_sums(Device *dev, Tensor sum, Tensor x, float beta)
{
    sum_columns<float>(dev, sum, x, beta);
}

void gpu_sum_rows(Device *dev, Tensor out, Tensor x, float beta)
{
    sum_columns<double>(dev, out, x, beta);
}

static void sumsq_run(Device *dev, const Update *updates, int n)
{
    Jobs<Total<Squares>> jobs = no_jobs<Total<Squares>>();
    for (const Update *u = updates; u < updates + n; u++)
        totals_add(&jobs, u->w, Squares{ view(u->w) }, (double *)u->squares.p, u->beta);
    totals_run(dev, jobs);
}

void gpu_sumsq(Device *dev, Tensor out, Tensor x, float beta)
{
    Update update = {};
    update.w = x;
    update.squares = out;
    update.beta = beta;
    group_add(dev, GROUP_SUMSQ, sumsq_run, update);
}

void gpu_total_add(Device *dev, Tensor out, Tensor x)
{
    Shape shape = { (unsigned)ceil_div(cols_of(x), WARP), 1, WARP, 1 };
    if (cols_of(x) > 0)
        launch(gpu_of(dev), shape, total_add_kernel, (double *)out.p, (const double *)x.p, cols_of(x));
}
