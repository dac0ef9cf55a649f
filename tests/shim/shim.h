/* shim.h: CUDA for the host: what the kernels of src/device/cuda/kernels need of it, so that the compiler of the host
 * builds their sources and tests run them on a machine without a GPU.
 *
 * The blocks of a grid run one after another. The threads of a block are fibers: each runs alone until it waits at a
 * barrier, a shuffle or a vote, then another one of its warp goes on, and the next warp when all of them wait at a
 * barrier. The order of threads, warps and blocks is forward, backward or shuffled anew each time; so where a barrier
 * is missing one order reads what another has not written, or writes what another has not read, and the results differ.
 * Shared memory holds NaN when a block begins.
 *
 * Asynchronous copies are made when their thread waits for them, so who reads before that reads NaN.
 *
 * A kernel dies with a message where some threads wait for others that have ended. All 32 threads of a warp take part
 * in each of its shuffles and votes. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SHIM 1
#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

typedef struct ShimIndex {
    unsigned x, y, z;
} ShimIndex;

extern ShimIndex threadIdx, blockIdx, blockDim, gridDim;

struct __align__(16) uint4
{
    unsigned x, y, z, w;
};
struct __align__(16) float4
{
    float x, y, z, w;
};

typedef enum ShimOrder { SHIM_FORWARD, SHIM_BACKWARD, SHIM_SHUFFLED, SHIM_ORDERS } ShimOrder;
void shim_set_order(ShimOrder order);

int64_t shim_launches(void); /* so far */
void shim_run(ShimIndex grid, ShimIndex block, void (*body)(void *), void *context);
void *shim_shared(size_t bytes);       /* of the block that runs: the same address for each of its threads */
void *shim_shared_large(size_t bytes); /* as much as a kernel may ask for when it is launched */
void shim_set_dynamic(size_t bytes);   /* as much as the next launch asks for; those before it may have the most */
/* cp.async: copies of the thread's own, which are made when it waits for them. */
void shim_copy_later(void *to, const void *from, size_t bytes);
void shim_copy_now(void);
/* Waits for all threads of the warp; gives the 32 values that they brought. */
const uint64_t *shim_meet(uint64_t value);

template <class Body> static inline void shim_launch(ShimIndex grid, ShimIndex block, Body body)
{
    shim_run(
        grid, block, [](void *context) { (*(Body *)context)(); }, &body);
}

void __syncthreads(void);

static inline int shim_lane(void)
{
    return (int)((threadIdx.y * blockDim.x + threadIdx.x) % 32);
}

static inline void __syncwarp(void)
{
    (void)shim_meet(0);
}

template <class T> static inline T shim_value(T value, int lane)
{
    uint64_t bits = 0;
    T result;
    memcpy(&bits, &value, sizeof value);
    bits = shim_meet(bits)[lane];
    memcpy(&result, &bits, sizeof result);
    return result;
}

template <class T> static inline T __shfl_sync(unsigned, T value, int lane)
{
    return shim_value(value, lane);
}

template <class T> static inline T __shfl_xor_sync(unsigned, T value, int mask)
{
    return shim_value(value, shim_lane() ^ mask);
}

template <class T> static inline T __shfl_up_sync(unsigned, T value, int distance)
{
    int lane = shim_lane();
    return shim_value(value, lane < distance ? lane : lane - distance);
}

static inline unsigned __ballot_sync(unsigned, bool vote)
{
    const uint64_t *votes = shim_meet(vote);
    unsigned mask = 0;
    for (int lane = 0; lane < 32; lane++)
        mask |= votes[lane] ? 1u << lane : 0;
    return mask;
}

static inline unsigned __match_any_sync(unsigned, unsigned value)
{
    const uint64_t *values = shim_meet(value);
    unsigned mask = 0;
    for (int lane = 0; lane < 32; lane++)
        mask |= values[lane] == value ? 1u << lane : 0;
    return mask;
}

static inline unsigned atomicAdd(unsigned *at, unsigned more)
{
    unsigned before = *at;
    *at += more;
    return before;
}

static inline unsigned atomicMax(unsigned *at, unsigned other)
{
    unsigned before = *at;
    *at = before > other ? before : other;
    return before;
}

static inline void __threadfence(void)
{
}

static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

static inline float rsqrtf(float x)
{
    return 1 / sqrtf(x);
}
