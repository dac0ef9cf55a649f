/* reduce.h: sums over a warp, over the threads of a block that share a row, and over all blocks of a grid. Every sum is
 * added in a fixed order, so that results are the same in each run; numbers are never added by atomic operations. */
#pragma once

#include "device/cuda/kernels/gpu.h"

#define ALL_LANES 0xFFFFFFFFu

/* The number of the calling thread within its warp: 0 … 31. */
static __device__ inline int lane_number(void)
{
    return (int)((threadIdx.y * blockDim.x + threadIdx.x) % WARP);
}

/* The sum of x over the 32 lanes of a warp, which every lane gets. */
template <class T> static __device__ inline T warp_sum(T x)
{
    UNROLL for (int distance = WARP / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(ALL_LANES, x, distance);
    return x;
}

/* Shared memory for row_sum: one number per warp. */
template <class T> struct PerWarp {
    T of[MOST_THREADS / WARP];
};

/* The sum of x over the blockDim.x threads with the same threadIdx.y, which each of these threads gets. blockDim.x is
 * WARP, or the number of threads of the whole block. */
template <class T> static __device__ inline T row_sum(T x, PerWarp<T> *parts)
{
    x = warp_sum(x);
    if (blockDim.x == WARP)
        return x;
    __syncthreads(); /* all threads have read the previous sum */
    if (threadIdx.x % WARP == 0)
        parts->of[threadIdx.x / WARP] = x;
    __syncthreads();
    T sum = parts->of[0];
    for (unsigned i = 1; i < blockDim.x / WARP; i++)
        sum += parts->of[i];
    return sum;
}

/* Shared memory for row_sums of N numbers at once. Two, so that a row's sums are read while the next are written. */
template <int N> struct RowSums {
    PerWarp<float> of[2][N];
};

/* As row_sum, of N numbers at once, for any number of rows of threads, of whole warps each. The caller's `turn` is 0
 * and 1 alternately, so each call waits once. */
template <int N> static __device__ inline void row_sums(float *sums, RowSums<N> *shared, int turn)
{
    unsigned warps = blockDim.x / WARP, first = threadIdx.y * warps;
    UNROLL for (int i = 0; i < N; i++) sums[i] = warp_sum(sums[i]);
    if (warps == 1)
        return;
    UNROLL for (int i = 0; i < N; i++) if (threadIdx.x % WARP == 0) shared->of[turn][i].of[first + threadIdx.x / WARP] =
        sums[i];
    __syncthreads();
    UNROLL for (int i = 0; i < N; i++)
    {
        const float *of = shared->of[turn][i].of + first;
        sums[i] = of[0];
        for (unsigned warp = 1; warp < warps; warp++)
            sums[i] += of[warp];
    }
}

/* To be called by each of `n` blocks at its end, with the same ticket. Returns true in all threads of the block that
 * calls it last, false in the others; the last can read what the others have written. The ticket is then 0 again. */
static __device__ inline bool last_block(unsigned *ticket, unsigned n, unsigned *shared)
{
    __threadfence();
    __syncthreads();
    bool first = threadIdx.x == 0 && threadIdx.y == 0;
    if (first)
        *shared = atomicAdd(ticket, 1);
    __syncthreads();
    if (*shared != n - 1)
        return false;
    __threadfence();
    if (first)
        *ticket = 0;
    return true;
}
