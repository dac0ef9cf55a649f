/* logits.h: the largest number of a row and the sum of the exponentials, in one pass by the threads of a block. */
#pragma once

#include "device/cuda/kernels/reduce.h"
#include "device/cuda/kernels/view.h"

/* Over some numbers of a row. `at` is the first index of the largest; -1: there is none. */
struct Peak {
    float max;
    int at;
    float sum;   /* Σ exp(x - max) */
    float plain; /* Σ x */
};

static __device__ inline Peak peak_empty(void)
{
    return { -INFINITY, -1, 0, 0 };
}

static __device__ inline bool peak_above(float max, int at, float other_max, int other_at)
{
    return at >= 0 && (other_at < 0 || max > other_max || (max == other_max && at < other_at));
}

/* Of both; the sums are rescaled to the larger maximum. A sum of no numbers is 0; one that is NaN stays NaN. */
static __device__ inline Peak peak_join(Peak a, Peak b)
{
    float max = fmaxf(a.max, b.max), sum = 0;
    sum += a.sum != 0 ? a.sum * expf(a.max - max) : 0;
    sum += b.sum != 0 ? b.sum * expf(b.max - max) : 0;
    return { max, peak_above(a.max, a.at, b.max, b.at) ? a.at : b.at, sum, a.plain + b.plain };
}

static __device__ inline Peak peak_shuffle(Peak a, int distance)
{
    return { __shfl_xor_sync(ALL_LANES, a.max, distance), __shfl_xor_sync(ALL_LANES, a.at, distance),
             __shfl_xor_sync(ALL_LANES, a.sum, distance), __shfl_xor_sync(ALL_LANES, a.plain, distance) };
}

/* A thread's part: VEC numbers at a time, blockDim.x vectors apart. */
static __device__ inline Peak peak_of_thread(const View &logits, int64_t row, int64_t cols)
{
    Peak peak = peak_empty();
    for (int64_t col = threadIdx.x * VEC; col < cols; col += blockDim.x * VEC) {
        float x[VEC], max = peak.max;
        int n = vec_length(cols, col);
        load(x, logits, row, col, n);
        UNROLL for (int i = 0; i < VEC; i++) if (i < n)
        {
            if (x[i] > max || peak.at < 0) {
                max = x[i];
                peak.at = (int)(col + i);
            }
            peak.plain += x[i];
        }
        float base = max == -INFINITY ? 0 : max; /* all of them -inf: their sum is 0, not NaN */
        float sum = peak.sum != 0 ? peak.sum * expf(peak.max - base) : 0;
        UNROLL for (int i = 0; i < VEC; i++) if (i < n) sum += expf(x[i] - base);
        peak.max = max;
        peak.sum = sum;
    }
    return peak;
}

/* Of the whole row, for each thread; blockDim.y is 1. */
static __device__ inline Peak peak_of_row(const View &logits, int64_t row, int64_t cols, Parts<Peak> *parts)
{
    Peak peak = peak_of_thread(logits, row, cols);
    UNROLL for (int distance = WARP / 2; distance > 0; distance /= 2) peak =
        peak_join(peak, peak_shuffle(peak, distance));
    if (threadIdx.x % WARP == 0)
        parts->of[threadIdx.x / WARP] = peak;
    __syncthreads();
    peak = parts->of[0];
    for (unsigned i = 1; i < blockDim.x / WARP; i++)
        peak = peak_join(peak, parts->of[i]);
    return peak;
}

/* A block a row, of as many threads as have more than one vector. */
static inline Shape logits_shape(int64_t rows, int64_t cols)
{
    int64_t threads = ceil_div(ceil_div(cols, 2 * VEC), WARP) * WARP;
    return { (unsigned)rows, 1, (unsigned)least(threads, MOST_THREADS), 1 };
}
