/* logits.h: online softmax: computes the maximum of a row of logits and the sum of its exponentials in one pass, by the
 * threads of a block. */
#pragma once

#include "device/cuda/kernels/reduce.h"
#include "device/cuda/kernels/view.h"

/* Result of the online softmax over some of the numbers x of a row. */
struct OnlineSoftmax {
    float max;   /* the largest x */
    int at;      /* index of the first x that equals max; -1 means that there were no numbers */
    float sum;   /* Σ exp(x - max) */
    float plain; /* Σ x */
};

/* The result for no numbers. */
static __device__ inline OnlineSoftmax softmax_empty(void)
{
    return { -INFINITY, -1, 0, 0 };
}

/* Whether the maximum of one result is that of the whole: the larger one, or the one with the smaller index if both are
 * equal. */
static __device__ inline bool comes_first(float max, int at, float other_max, int other_at)
{
    return at >= 0 && (other_at < 0 || max > other_max || (max == other_max && at < other_at));
}

/* Combines the results for two parts of a row: the sums are rescaled to the larger maximum. A sum over no numbers is 0;
 * NaN stays NaN. */
static __device__ inline OnlineSoftmax softmax_join(OnlineSoftmax a, OnlineSoftmax b)
{
    float max = fmaxf(a.max, b.max), sum = 0;
    sum += a.sum != 0 ? a.sum * expf(a.max - max) : 0;
    sum += b.sum != 0 ? b.sum * expf(b.max - max) : 0;
    return { max, comes_first(a.max, a.at, b.max, b.at) ? a.at : b.at, sum, a.plain + b.plain };
}

/* The result that lane (own lane XOR distance) of the warp holds. */
static __device__ inline OnlineSoftmax softmax_shuffle(OnlineSoftmax a, int distance)
{
    return { __shfl_xor_sync(ALL_LANES, a.max, distance), __shfl_xor_sync(ALL_LANES, a.at, distance),
             __shfl_xor_sync(ALL_LANES, a.sum, distance), __shfl_xor_sync(ALL_LANES, a.plain, distance) };
}

/* The result for the part of a row that the calling thread reads: vectors of VEC numbers, blockDim.x vectors apart. */
static __device__ inline OnlineSoftmax softmax_of_thread(const View &logits, int64_t row, int64_t cols)
{
    OnlineSoftmax softmax = softmax_empty();
    for (int64_t col = threadIdx.x * VEC; col < cols; col += blockDim.x * VEC) {
        float x[VEC], max = softmax.max;
        int n = vec_length(cols, col);
        load(x, logits, row, col, n);
        UNROLL for (int i = 0; i < VEC; i++) if (i < n)
        {
            if (x[i] > max || softmax.at < 0) {
                max = x[i];
                softmax.at = (int)(col + i);
            }
            softmax.plain += x[i];
        }
        float base = max == -INFINITY ? 0 : max; /* if all numbers are -inf, their sum is 0, not NaN */
        float sum = softmax.sum != 0 ? softmax.sum * expf(softmax.max - base) : 0;
        UNROLL for (int i = 0; i < VEC; i++) if (i < n) sum += expf(x[i] - base);
        softmax.max = max;
        softmax.sum = sum;
    }
    return softmax;
}

/* The result for the whole row, which every thread of the block gets; blockDim.y is 1. */
static __device__ inline OnlineSoftmax softmax_of_row(const View &logits, int64_t row, int64_t cols,
                                                      PerWarp<OnlineSoftmax> *parts)
{
    OnlineSoftmax softmax = softmax_of_thread(logits, row, cols);
    UNROLL for (int distance = WARP / 2; distance > 0; distance /= 2) softmax =
        softmax_join(softmax, softmax_shuffle(softmax, distance));
    if (threadIdx.x % WARP == 0)
        parts->of[threadIdx.x / WARP] = softmax;
    __syncthreads();
    softmax = parts->of[0];
    for (unsigned i = 1; i < blockDim.x / WARP; i++)
        softmax = softmax_join(softmax, parts->of[i]);
    return softmax;
}

/* The grid for softmax_of_row: one block per row, with about one thread per two vectors of 8 columns. */
static inline Shape logits_shape(int64_t rows, int64_t cols)
{
    int64_t threads = ceil_div(ceil_div(cols, 2 * VEC), WARP) * WARP;
    return { (unsigned)rows, 1, (unsigned)least(threads, MOST_THREADS), 1 };
}
