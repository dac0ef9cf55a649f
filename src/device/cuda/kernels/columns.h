/* columns.h: computes sums over the columns of tensors in the same pass over the rows that writes another result:
 * gradients of gains and biases, Adafactor's moments. Each thread block takes a range of rows and keeps its column sums
 * in registers; a second kernel adds these partial sums in the order of the blocks. The ranges depend only on the
 * tensor's shape, so results are the same in each run.
 *
 * A Pass, the template argument of these functions, is a struct with
 *   Sum                             the type of the column sums: float or double
 *   ROW_SUMS, COLUMN_SUMS           number of sums per row and per column; ROW_SUMS may be 0
 *   first(row, col, n, float *sums)                        adds n numbers from column col on to the row's sums
 *   second(row, col, n, const float *sums, Sum (*c)[VEC])  writes n numbers, and adds to the sums of their columns */
#pragma once

#include "device/cuda/kernels/reduce.h"
#include "device/cuda/kernels/view.h"

/* For a row of up to MOST_ROW numbers one block computes row sums and column sums; for longer rows another kernel
 * computes the row sums first. */
enum { MOST_ROW_THREADS = 512, FEW_ROW_THREADS = 256, MOST_VECS = 4, ROW_GROUPS = 8, MOST_ROW = ROW_LIMIT };
static_assert((int)MOST_ROW == MOST_ROW_THREADS * MOST_VECS * VEC, "the longest row that a block holds");

template <class Sum> struct ColumnParts {
    PerWarp<float> rows;
    Sum of[ROW_GROUPS][WARP * VEC]; /* column sums of VEC columns per lane, from each row of threads */
};

/* Processes one of `parts` ranges of rows, in one chunk of columns, and writes the column sums of this range to partial
 * (COLUMN_SUMS, parts, cols). */
template <class Pass, int VECS>
static __device__ inline void columns_part(const Pass &pass, int64_t rows, int64_t cols, typename Pass::Sum *partial,
                                           unsigned chunk, unsigned part, unsigned parts)
{
    typedef typename Pass::Sum Sum;
    ColumnParts<Sum> *shared = block_shared<ColumnParts<Sum>>();
    int64_t span = (int64_t)blockDim.x * VEC, first = chunk * span * VECS + threadIdx.x * VEC;
    int64_t begin = rows * part / parts, end = rows * (part + 1) / parts;
    Sum columns[VECS][Pass::COLUMN_SUMS][VEC] = {};

    for (int64_t row = begin + threadIdx.y; row < end; row += blockDim.y) {
        float sums[Pass::ROW_SUMS + 1] = {};
        if (Pass::ROW_SUMS > 0) {
            for (int64_t col = first; col < cols; col += span)
                pass.first(row, col, vec_length(cols, col), sums);
            UNROLL for (int i = 0; i < Pass::ROW_SUMS; i++) sums[i] = row_sum(sums[i], &shared->rows);
        }
        UNROLL for (int k = 0; k < VECS; k++) if (first + k * span < cols)
            pass.second(row, first + k * span, vec_length(cols, first + k * span), sums, columns[k]);
    }
    UNROLL for (int k = 0; k < VECS; k++) UNROLL for (int s = 0; s < Pass::COLUMN_SUMS; s++)
    {
        int64_t col = first + k * span;
        Sum *to = partial + ((int64_t)s * parts + part) * cols + col;
        if (blockDim.y == 1) {
            UNROLL for (int i = 0; i < VEC; i++) if (col + i < cols) to[i] = columns[k][s][i];
            continue;
        }
        UNROLL for (int i = 0; i < VEC; i++) shared->of[threadIdx.y][threadIdx.x * VEC + i] = columns[k][s][i];
        __syncthreads();
        UNROLL for (int i = 0; i < VEC; i++) if (threadIdx.y == 0 && col + i < cols)
        {
            Sum sum = 0;
            for (unsigned y = 0; y < blockDim.y; y++)
                sum += shared->of[y][threadIdx.x * VEC + i];
            to[i] = sum;
        }
        __syncthreads();
    }
}

template <class Pass, int VECS, int THREADS>
static __global__ void __launch_bounds__(THREADS)
    columns_kernel(Pass pass, int64_t rows, int64_t cols, typename Pass::Sum *partial)
{
    columns_part<Pass, VECS>(pass, rows, cols, partial, blockIdx.x, blockIdx.y, gridDim.y);
}

/* The grid of a pass, and the number of vectors (of 8 columns) per thread. If a pass has row sums, a block reads whole
 * rows: one warp per row, with at most 4 vectors of 8 columns per lane; longer rows use a whole block of up to
 * MOST_ROW_THREADS threads. */
struct ColumnShape {
    Shape shape;
    int vectors;
};

static inline ColumnShape column_shape(int64_t rows, int64_t cols, bool row_sums)
{
    int64_t vectors = ceil_div(cols, VEC), x = WARP, y = ROW_GROUPS, each = 1, chunks = ceil_div(vectors, WARP);
    if (row_sums) {
        chunks = 1;
        each = ceil_div(vectors, WARP);
        if (each > MOST_VECS) {
            y = 1;
            each = ceil_div(vectors, MOST_ROW_THREADS);
        }
        each = each == 3 ? (int64_t)MOST_VECS : each;
        if (y == 1)
            x = ceil_div(ceil_div(vectors, each), WARP) * WARP;
    }
    CHECK(x <= MOST_ROW_THREADS && each <= MOST_VECS, "rows of %lld numbers, at most %d", (long long)cols,
          (int)MOST_ROW);
    return { { (unsigned)chunks, (unsigned)scratch_ranges(rows, cols, row_sums), (unsigned)x, (unsigned)y },
             (int)each };
}

/* A pass over rows longer than MOST_ROW: it reads the row sums (rows, ROW_SUMS), which long_rows_kernel has
 * computed. */
template <class Pass> struct LongRows {
    typedef typename Pass::Sum Sum;
    enum { ROW_SUMS = 0, COLUMN_SUMS = Pass::COLUMN_SUMS };
    Pass pass;
    const float *sums;
    __device__ void first(int64_t, int64_t, int, float *) const
    {
    }
    __device__ void second(int64_t row, int64_t col, int n, const float *, Sum (*columns)[VEC]) const
    {
        pass.second(row, col, n, sums + row * Pass::ROW_SUMS, columns);
    }
};

/* Computes the row sums (rows, ROW_SUMS) of a pass, with one block per row. */
template <class Pass>
static __global__ void __launch_bounds__(MOST_ROW_THREADS) long_rows_kernel(Pass pass, int64_t cols, float *sums)
{
    PerWarp<float> *parts = block_shared<PerWarp<float>>();
    float own[Pass::ROW_SUMS] = {};
    for (int64_t col = threadIdx.x * VEC; col < cols; col += (int64_t)blockDim.x * VEC)
        pass.first(blockIdx.x, col, vec_length(cols, col), own);
    UNROLL for (int i = 0; i < Pass::ROW_SUMS; i++)
    {
        float sum = row_sum(own[i], parts);
        if (threadIdx.x == 0)
            sums[(int64_t)blockIdx.x * Pass::ROW_SUMS + i] = sum;
    }
}

template <class Pass>
static void columns_run(Gpu *gpu, const Pass &pass, const ColumnShape &shape, int64_t rows, int64_t cols,
                        typename Pass::Sum *partial)
{
    /* A block of few threads may use more registers per thread. */
    bool few = shape.shape.threads_x * shape.shape.threads_y <= FEW_ROW_THREADS;
    if (shape.vectors == 1)
        return launch(gpu, shape.shape, columns_kernel<Pass, 1, MOST_ROW_THREADS>, pass, rows, cols, partial);
    if constexpr (Pass::ROW_SUMS > 0) {
        if (shape.vectors == 2)
            launch(gpu, shape.shape, columns_kernel<Pass, 2, MOST_ROW_THREADS>, pass, rows, cols, partial);
        else if (few)
            launch(gpu, shape.shape, columns_kernel<Pass, MOST_VECS, FEW_ROW_THREADS>, pass, rows, cols, partial);
        else
            launch(gpu, shape.shape, columns_kernel<Pass, MOST_VECS, MOST_ROW_THREADS>, pass, rows, cols, partial);
    }
}

/* The column sums of a pass before `fold` adds them: partial sums (COLUMN_SUMS, parts, cols) in scratch memory. */
template <class Sum> struct ColumnSums {
    Sum *partial;
    int parts;
    int64_t cols;
};

/* Runs a pass over a tensor (rows, cols) with rows of any length. */
template <class Pass>
static ColumnSums<typename Pass::Sum> columns(Gpu *gpu, const Pass &pass, int64_t rows, int64_t cols)
{
    typedef typename Pass::Sum Sum;
    bool is_long = Pass::ROW_SUMS > 0 && cols > MOST_ROW;
    ColumnShape shape = column_shape(rows, cols, Pass::ROW_SUMS > 0 && !is_long);
    size_t count = (size_t)Pass::COLUMN_SUMS * shape.shape.blocks_y * (size_t)cols;
    Sum *partial = (Sum *)gpu_scratch(gpu, scratch_columns(rows, cols, Pass::COLUMN_SUMS, Pass::ROW_SUMS, sizeof(Sum)));
    if (!is_long)
        columns_run(gpu, pass, shape, rows, cols, partial);
    if constexpr (Pass::ROW_SUMS > 0) {
        float *sums = (float *)(partial + count);
        if (is_long && rows > 0)
            launch(gpu, { (unsigned)rows, 1, MOST_ROW_THREADS, 1 }, long_rows_kernel<Pass>, pass, cols, sums);
        if (is_long)
            columns_run(gpu, LongRows<Pass>{ pass, sums }, shape, rows, cols, partial);
    }
    return { partial, (int)shape.shape.blocks_y, cols };
}

/* Destination of sums, a vector of f32, bf16, f16 or f64: element col becomes beta · old + sum. */
struct FoldInto {
    View to;
    double *total; /* the vector if its dtype is f64, otherwise NULL */
    float beta;
    __device__ void operator()(int64_t col, double sum) const
    {
        if (total)
            total[col] = beta == 0 ? sum : (double)beta * total[col] + sum;
        else
            store_one(to, 0, col, blend(to, 0, col, beta, (float)sum));
    }
};

static inline FoldInto fold_into(Tensor t, float beta)
{
    return { view(t), t.dtype == DT_F64 ? (double *)t.p : NULL, beta };
}

template <class Sum> struct FoldParts {
    Sum of[ROW_GROUPS][WARP];
};

/* Adds the `parts` partial sums of the 32 columns of a chunk: each lane has one column, each warp every ROW_GROUPS-th
 * part. */
template <class Sum>
static __device__ inline void fold_part(const Sum *partial, int parts, int64_t cols, const FoldInto &into,
                                        unsigned chunk)
{
    FoldParts<Sum> *shared = block_shared<FoldParts<Sum>>();
    int64_t col = (int64_t)chunk * WARP + threadIdx.x;
    Sum sum = 0;
    if (col < cols)
        UNROLL_8 for (int p = (int)threadIdx.y; p < parts; p += ROW_GROUPS) sum += partial[p * cols + col];
    shared->of[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || col >= cols)
        return;
    double total = 0;
    UNROLL for (int y = 0; y < ROW_GROUPS; y++) total += (double)shared->of[y][threadIdx.x];
    into(col, total);
}

template <class Sum> static __global__ void fold_kernel(const Sum *partial, int parts, int64_t cols, FoldInto into)
{
    fold_part(partial, parts, cols, into, blockIdx.x);
}

/* Adds the partial sums of column sum number `which` (0 … COLUMN_SUMS - 1) and stores the result. */
template <class Sum> static void fold(Gpu *gpu, const ColumnSums<Sum> &sums, int which, FoldInto into)
{
    Shape shape = { (unsigned)ceil_div(sums.cols, WARP), 1, WARP, ROW_GROUPS };
    if (sums.cols > 0)
        launch(gpu, shape, fold_kernel<Sum>, (const Sum *)sums.partial + (int64_t)which * sums.parts * sums.cols,
               sums.parts, sums.cols, into);
}
