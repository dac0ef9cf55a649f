/* reduce.h: sums over a warp, over the threads of a row, and over a whole grid. Every sum has a fixed order, so that
 * results are the same in each run; numbers are never added by atomic operations. */
#pragma once

#include "device/cuda/kernels/gpu.h"

#define ALL_LANES 0xFFFFFFFFu

static __device__ inline int lane_number(void)
{
    return (int)((threadIdx.y * blockDim.x + threadIdx.x) % WARP);
}

template <class T> static __device__ inline T warp_sum(T x)
{
    UNROLL for (int distance = WARP / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(ALL_LANES, x, distance);
    return x;
}

/* One number per warp of the threads of a row. */
template <class T> struct Parts {
    T of[MOST_THREADS / WARP];
};

/* Returns, in each of the blockDim.x threads of a row, the sum over these threads. blockDim.x is WARP, or the size of
 * the whole block. */
template <class T> static __device__ inline T row_sum(T x, Parts<T> *parts)
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

/* True in all threads of the last of `n` blocks that calls this with the ticket; this block sees what the other blocks
 * have written. The ticket is 0 again afterwards. */
static __device__ inline bool last_block(unsigned *ticket, unsigned n, unsigned *shared)
{
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0)
        *shared = atomicAdd(ticket, 1);
    __syncthreads();
    if (*shared != n - 1)
        return false;
    __threadfence();
    *ticket = 0;
    return true;
}
