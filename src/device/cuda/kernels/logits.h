/* logits.h: online softmax: the maximum of a row of logits and the sum of its exponentials, in one pass of a block. */
#pragma once

#include "device/cuda/kernels/reduce.h"
#include "device/cuda/kernels/view.h"

constexpr float LOG2_E = 1.4426950408889634f;

/* Result of the online softmax over some of the numbers x of a row. */
struct OnlineSoftmax {
    float max;   /* the largest x */
    int at;      /* first column of the first vector of VEC numbers that has an x equal to max; -1: no numbers */
    float sum;   /* Σ exp(x - max) */
    float plain; /* Σ x */
};

/* The result for no numbers. */
static __device__ inline OnlineSoftmax softmax_empty(void)
{
    return { -INFINITY, -1, 0, 0 };
}

/* Whether one result's maximum is that of the whole: the larger, or if both are equal the one of smaller index. */
static __device__ inline bool comes_first(float max, int at, float other_max, int other_at)
{
    return at >= 0 && (other_at < 0 || max > other_max || (max == other_max && at < other_at));
}

/* What is subtracted from numbers before their exponentials are summed: if all are -inf, the sum is 0, not NaN. */
static __device__ inline float softmax_base(float max)
{
    return max == -INFINITY ? 0 : max;
}

/* Combines the results for two parts of a row: the sums are rescaled to the larger maximum. NaN stays NaN. */
static __device__ inline OnlineSoftmax softmax_join(OnlineSoftmax a, OnlineSoftmax b)
{
    float max = fmaxf(a.max, b.max), base = softmax_base(max);
    float sum = a.sum * exp2_fast((a.max - base) * LOG2_E) + b.sum * exp2_fast((b.max - base) * LOG2_E);
    return { max, comes_first(a.max, a.at, b.max, b.at) ? a.at : b.at, sum, a.plain + b.plain };
}

/* The result that lane (own lane XOR distance) of the warp holds. */
static __device__ inline OnlineSoftmax softmax_shuffle(OnlineSoftmax a, int distance)
{
    return { __shfl_xor_sync(ALL_LANES, a.max, distance), __shfl_xor_sync(ALL_LANES, a.at, distance),
             __shfl_xor_sync(ALL_LANES, a.sum, distance), __shfl_xor_sync(ALL_LANES, a.plain, distance) };
}

/* The result for the lanes of a warp, which every lane gets. */
static __device__ inline OnlineSoftmax softmax_of_warp(OnlineSoftmax softmax)
{
    UNROLL for (int distance = WARP / 2; distance > 0; distance /= 2) softmax =
        softmax_join(softmax, softmax_shuffle(softmax, distance));
    return softmax;
}

/* Adds the n numbers of the vector from column `col` on to the result; the rest of x is 0. */
static __device__ inline void softmax_add(OnlineSoftmax *softmax, float (&x)[VEC], int col, int n)
{
    UNROLL for (int i = 0; i < VEC; i++) softmax->plain += x[i];
    if (n < VEC)
        UNROLL for (int i = 0; i < VEC; i++) x[i] = i < n ? x[i] : -INFINITY;
    float largest = x[0], sum = 0;
    UNROLL for (int i = 1; i < VEC; i++) largest = fmaxf(largest, x[i]);
    softmax->at = largest > softmax->max || softmax->at < 0 ? col : softmax->at;
    float max = fmaxf(softmax->max, largest), base = softmax_base(max);
    UNROLL for (int i = 0; i < VEC; i++) sum += exp2_fast((x[i] - base) * LOG2_E);
    softmax->sum = softmax->sum * exp2_fast((softmax->max - base) * LOG2_E) + sum;
    softmax->max = max;
}

/* Calls function(x, col, n) for each vector of a row that the calling thread has: they are blockDim.x vectors apart.
 * AHEAD of them are on their way at once. */
template <int AHEAD, class Function>
static __device__ inline void each_vec_of_row(const View &logits, int64_t row, int64_t cols, Function function)
{
    int64_t span = (int64_t)blockDim.x * VEC;
    for (int64_t first = threadIdx.x * VEC; first < cols; first += AHEAD * span) {
        Bits bits[AHEAD];
        UNROLL for (int k = 0; k < AHEAD; k++) if (first + k * span < cols) bits[k] =
            fetch(logits, row, first + k * span, vec_length(cols, first + k * span));
        UNROLL for (int k = 0; k < AHEAD; k++) if (first + k * span < cols)
        {
            float x[VEC];
            convert(x, bits[k], logits);
            function(x, first + k * span, vec_length(cols, first + k * span));
        }
    }
}

/* The result for the whole row, which every thread of the block gets; blockDim.y is 1. */
template <int AHEAD>
static __device__ inline OnlineSoftmax softmax_of_row(const View &logits, int64_t row, int64_t cols,
                                                      PerWarp<OnlineSoftmax> *parts)
{
    OnlineSoftmax softmax = softmax_empty();
    each_vec_of_row<AHEAD>(logits, row, cols,
                           [&](float(&x)[VEC], int64_t col, int n) { softmax_add(&softmax, x, (int)col, n); });
    softmax = softmax_of_warp(softmax);
    if (threadIdx.x % WARP == 0)
        parts->of[threadIdx.x / WARP] = softmax;
    __syncthreads();
    unsigned lane = threadIdx.x % WARP;
    return softmax_of_warp(lane < blockDim.x / WARP ? parts->of[lane] : softmax_empty());
}

/* Whether column `col` is the first with the largest number of its row. */
static __device__ inline bool is_first_largest(const OnlineSoftmax &softmax, const View &logits, int64_t row,
                                               int64_t cols, int64_t col)
{
    float x[VEC];
    int64_t first = col / VEC * VEC;
    load(x, logits, row, first, vec_length(cols, first));
    bool before = false;
    UNROLL for (int i = 0; i < VEC; i++) before = before || (first + i < col && x[i] == softmax.max);
    return softmax.at == first && !before && load_one(logits, row, col) == softmax.max;
}

/* The grid for softmax_of_row: one block per row, about one thread per two vectors of 8 columns, at most `most`. */
static inline Shape logits_shape(int64_t rows, int64_t cols, int most)
{
    int64_t threads = ceil_div(ceil_div(cols, 2 * VEC), WARP) * WARP;
    return { (unsigned)rows, 1, (unsigned)least(threads, most), 1 };
}
