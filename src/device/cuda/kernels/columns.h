/* columns.h: computes sums over the columns of tensors in the same pass over the rows that writes another result:
 * gradients of gains and biases, Adafactor's moments. Each thread block takes a range of rows and keeps its column sums
 * in registers; a second kernel adds these partial sums in the order of the blocks. The ranges depend only on the
 * tensor's shape, so results are the same in each run.
 *
 * A Pass, the template argument of these functions, is a struct with
 *   Sum                             the type of the column sums: float or double
 *   ROW_SUMS, COLUMN_SUMS           number of sums per row and per column; ROW_SUMS may be 0
 *   Held                            what is computed of n numbers of a row before its sums are known
 *   hold(row, col, n)                                 returns it, for n numbers from column col on
 *   first(held, float *sums, Sum (*columns)[VEC])     adds them to the sums of the row and of their columns
 *   second(held, row, col, n, const float *sums)      writes n numbers
 * All loads are in hold, so that they are on their way at once. */
#pragma once

#include "device/cuda/kernels/reduce.h"
#include "device/cuda/kernels/view.h"

/* One block computes row and column sums of rows up to MOST_ROW; for longer rows another kernel sums rows first. */
enum { MOST_ROW_THREADS = 512, FEW_ROW_THREADS = 256, MOST_VECS = 4, ROW_GROUPS = 8, MOST_ROW = ROW_LIMIT };
static_assert((int)MOST_ROW == MOST_ROW_THREADS * MOST_VECS * VEC, "the longest row that a block holds");

template <class Pass> struct ColumnParts {
    RowSums<Pass::ROW_SUMS + (Pass::ROW_SUMS == 0)> rows;
    typename Pass::Sum of[FEW_ROW_THREADS * VEC]; /* the column sums of each row of threads, one row after the other */
};

/* Adds up the column sums of a block's rows of threads, VEC of them per thread, and writes them to `to`, those of the
 * thread's columns, of which n exist. */
template <class Pass>
static __device__ inline void columns_join(ColumnParts<Pass> *shared, const typename Pass::Sum *own,
                                           typename Pass::Sum *to, int64_t n)
{
    typename Pass::Sum *of = shared->of + threadIdx.x * VEC;
    unsigned step = blockDim.x * VEC;
    UNROLL for (int i = 0; i < VEC; i++) of[threadIdx.y * step + i] = own[i];
    __syncthreads();
    UNROLL for (int i = 0; i < VEC; i++) if (threadIdx.y == 0 && i < n)
    {
        typename Pass::Sum sum = 0;
        for (unsigned y = 0; y < blockDim.y; y++)
            sum += of[y * step + i];
        to[i] = sum;
    }
    __syncthreads();
}

/* Processes one of `parts` ranges of rows, in one chunk of columns; writes its column sums to partial (COLUMN_SUMS,
 * parts, cols). Rows of one vector per thread are held in registers; longer ones are read twice. */
template <class Pass, int VECS>
static __device__ inline void columns_part(const Pass &pass, int64_t rows, int64_t cols, typename Pass::Sum *partial,
                                           unsigned chunk, unsigned part, unsigned parts)
{
    typedef typename Pass::Sum Sum;
    ColumnParts<Pass> *shared = block_shared<ColumnParts<Pass>>();
    int64_t span = (int64_t)blockDim.x * VEC, first = chunk * span * VECS + threadIdx.x * VEC;
    int64_t begin = rows * part / parts, end = rows * (part + 1) / parts;
    Sum columns[VECS][Pass::COLUMN_SUMS][VEC] = {};
    int turn = 0;

    /* All threads take as many turns, since they wait for each other in row_sums. */
    for (int64_t top = begin; top < end; top += blockDim.y, turn ^= 1) {
        int64_t row = top + threadIdx.y, width = row < end ? cols : 0;
        float sums[Pass::ROW_SUMS + 1] = {};
        typename Pass::Held held = {};
        UNROLL for (int k = 0; k < VECS; k++) if (first + k * span < width)
        {
            held = pass.hold(row, first + k * span, vec_length(cols, first + k * span));
            pass.first(held, sums, columns[k]);
        }
        if constexpr (Pass::ROW_SUMS > 0)
            row_sums<Pass::ROW_SUMS>(sums, &shared->rows, turn);
        UNROLL for (int k = 0; k < VECS; k++) if (first + k * span < width)
        {
            int n = vec_length(cols, first + k * span);
            if (VECS > 1)
                held = pass.hold(row, first + k * span, n);
            pass.second(held, row, first + k * span, n, sums);
        }
    }
    UNROLL for (int k = 0; k < VECS; k++) UNROLL for (int s = 0; s < Pass::COLUMN_SUMS; s++)
    {
        int64_t col = first + k * span;
        Sum *to = partial + ((int64_t)s * parts + part) * cols + col;
        if (blockDim.y > 1) {
            columns_join<Pass>(shared, columns[k][s], to, cols - col);
            continue;
        }
        UNROLL for (int i = 0; i < VEC; i++) if (col + i < cols) to[i] = columns[k][s][i];
    }
}

/* With one vector per thread 64 registers: 1,024 threads on a multiprocessor, each with a row's loads on its way. */
template <class Pass, int VECS>
static __global__ void __launch_bounds__(MOST_ROW_THREADS, VECS == 1 ? 2 : 1)
    columns_kernel(Pass pass, int64_t rows, int64_t cols, typename Pass::Sum *partial)
{
    begin_kernel();
    columns_part<Pass, VECS>(pass, rows, cols, partial, blockIdx.x, blockIdx.y, gridDim.y);
}

/* Threads of a row of `cols` numbers, with one vector each if they are not more than a block may have; and the number
 * of rows that a block has at a time. */
static inline int64_t row_threads(int64_t cols)
{
    return least(ceil_div(ceil_div(cols, VEC), WARP) * WARP, MOST_ROW_THREADS);
}

static inline int64_t row_groups(int64_t threads)
{
    return threads > FEW_ROW_THREADS ? 1 : FEW_ROW_THREADS / threads;
}

/* The grid of a pass, and vectors (of 8 columns) per thread. If a pass has row sums, a block reads whole rows, with one
 * vector per thread in a row of up to 8 * MOST_ROW_THREADS numbers; several rows at a time if they are short. */
struct ColumnShape {
    Shape shape;
    int vectors;
};

static inline ColumnShape column_shape(int64_t rows, int64_t cols, bool row_sums)
{
    int64_t vectors = ceil_div(cols, VEC), x = WARP, each = 1, chunks = ceil_div(vectors, WARP);
    if (row_sums) {
        chunks = 1;
        each = ceil_div(vectors, MOST_ROW_THREADS);
        each = each == 3 ? (int64_t)MOST_VECS : each;
        x = row_threads(ceil_div(vectors, each) * VEC);
    }
    CHECK(each <= MOST_VECS, "rows of %lld numbers, at most %d", (long long)cols, (int)MOST_ROW);
    return { { (unsigned)chunks, (unsigned)scratch_ranges(rows, cols, row_sums), (unsigned)x, (unsigned)row_groups(x) },
             (int)each };
}

/* A pass over rows longer than MOST_ROW: reads the row sums (rows, ROW_SUMS) that long_rows_kernel computed. */
template <class Pass> struct LongRows {
    typedef typename Pass::Sum Sum;
    typedef typename Pass::Held Held;
    enum { ROW_SUMS = 0, COLUMN_SUMS = Pass::COLUMN_SUMS };
    Pass pass;
    const float *sums;
    __device__ Held hold(int64_t row, int64_t col, int n) const
    {
        return pass.hold(row, col, n);
    }
    __device__ void first(const Held &held, float *, Sum (*columns)[VEC]) const
    {
        float unused[Pass::ROW_SUMS] = {};
        pass.first(held, unused, columns);
    }
    __device__ void second(const Held &held, int64_t row, int64_t col, int n, const float *) const
    {
        pass.second(held, row, col, n, sums + row * Pass::ROW_SUMS);
    }
};

/* Computes the row sums (rows, ROW_SUMS) of a pass, with one block per row. */
template <class Pass>
static __global__ void __launch_bounds__(MOST_ROW_THREADS) long_rows_kernel(Pass pass, int64_t cols, float *sums)
{
    begin_kernel();
    PerWarp<float> *parts = block_shared<PerWarp<float>>();
    float own[Pass::ROW_SUMS] = {};
    typename Pass::Sum unused[Pass::COLUMN_SUMS][VEC] = {};
    for (int64_t col = threadIdx.x * VEC; col < cols; col += (int64_t)blockDim.x * VEC)
        pass.first(pass.hold(blockIdx.x, col, vec_length(cols, col)), own, unused);
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
    if (shape.vectors == 1)
        return launch(gpu, shape.shape, columns_kernel<Pass, 1>, pass, rows, cols, partial);
    if constexpr (Pass::ROW_SUMS > 0) {
        if (shape.vectors == 2)
            launch(gpu, shape.shape, columns_kernel<Pass, 2>, pass, rows, cols, partial);
        else
            launch(gpu, shape.shape, columns_kernel<Pass, MOST_VECS>, pass, rows, cols, partial);
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
    begin_kernel();
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
