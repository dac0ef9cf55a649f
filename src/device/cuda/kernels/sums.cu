/* sums.cu: sums over rows, over whole tensors, and of sums; the checksum of a matrix, which compares two results. */
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

enum { SUM_THREADS = 256 };

/* The finalizer of SplitMix64. */
static __device__ inline unsigned long long mixed(unsigned long long x)
{
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}

/* partial (gridDim.x): the checksum of rows blockIdx.x, blockIdx.x + gridDim.x, … infinity: the bits of an exponent
 * that infinities and NaN have. */
template <class Word>
static __global__ void __launch_bounds__(SUM_THREADS)
    checksum_kernel(const Word *y, int64_t rows, int64_t cols, int64_t ld, Word infinity, Checksum *partial)
{
    begin_kernel();
    PerWarp<unsigned long long> *parts = block_shared<PerWarp<unsigned long long>>();
    unsigned long long sum = 0, filled = 0;
    for (int64_t row = blockIdx.x; row < rows; row += gridDim.x)
        for (int64_t col = threadIdx.x; col < cols; col += blockDim.x) {
            const Word word = y[row * ld + col];
            sum += mixed((unsigned long long)(row * cols + col) << 32 ^ word);
            filled += (Word)(word << 1) != 0 && (word & infinity) != infinity; /* -0 is 0 */
        }
    sum = row_sum(sum, parts);
    filled = row_sum(filled, parts);
    if (threadIdx.x == 0)
        partial[blockIdx.x] = { sum, filled };
}

int gpu_checksum(Gpu *gpu, Checksum *partial, Tensor y)
{
    const Shape shape = { (unsigned)least(rows_of(y), CHECKSUM_BLOCKS), 1, SUM_THREADS, 1 };
    const uint16_t infinity = y.dtype == DT_BF16 ? 0x7F80 : 0x7C00;
    if (y.dtype == DT_F32)
        launch(gpu, shape, checksum_kernel<uint32_t>, (const uint32_t *)y.p, rows_of(y), cols_of(y), y.ld, 0x7F800000u,
               partial);
    else
        launch(gpu, shape, checksum_kernel<uint16_t>, (const uint16_t *)y.p, rows_of(y), cols_of(y), y.ld, infinity,
               partial);
    return (int)shape.blocks_x;
}
