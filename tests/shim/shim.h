/* shim.h: CUDA for the host: what the kernels of src/device/cuda/kernels need of it, so that the compiler of the host
 * builds their sources and tests run them on a machine without a GPU.
 *
 * The threads of a block are fibers: each runs until it waits at a barrier, a shuffle or a vote, then another thread of
 * its warp continues, and the next warp when all of them wait at a barrier. The order of threads, warps and blocks is
 * forward, backward or shuffled anew each time; in the last, two blocks take turns, else each block runs to its end. So
 * where a barrier is missing, one order reads what another has not written, or writes what another has not read, and
 * the results differ. Shared memory holds NaN when a block begins.
 *
 * An asynchronous copy is made when its thread waits for it, when it is issued, or at random between the two: with the
 * orders forward, backward and shuffled.
 *
 * All 32 threads of a warp take part in each of its shuffles and votes, and all threads of a block in each barrier,
 * each at the same place in the source. A kernel that breaks this rule dies with a message, and so does one in which
 * some threads wait for others that have ended. Where SHIM_TRACED is defined, trace.cc checks each access to memory. */
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
void shim_set_order(ShimOrder order); /* and when copies are made */

/* When an asynchronous copy is made. */
typedef enum ShimCopies { SHIM_COPIES_LATE, SHIM_COPIES_EARLY, SHIM_COPIES_BETWEEN } ShimCopies;
void shim_set_copies(ShimCopies when); /* until the next shim_set_order */

/* A place in the source of a kernel. SHIM_HERE as a default argument of a function is the place of the call. */
typedef struct ShimPlace {
    const char *file;
    int line;
} ShimPlace;
static constexpr ShimPlace shim_here(const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
    return { file, line };
}
#define SHIM_HERE shim_here()

int64_t shim_launches(void); /* so far */
void shim_run(ShimIndex grid, ShimIndex block, void (*body)(void *), void *context);
void *shim_shared(size_t bytes);       /* of the block that runs: the same address for each of its threads */
void *shim_shared_large(size_t bytes); /* as much as a kernel may ask for when it is launched */
void shim_set_dynamic(size_t bytes);   /* as much as the next launch asks for; those before it may have the most */
/* Programmatic dependent launch. `early`: the next kernels may begin before the kernel before them has ended. Then each
 * thread must call shim_wait_for_earlier before it ends. The part of a kernel before that call may run at any time. It
 * runs with the rest here, which is no other time to a part that touches no global memory: where SHIM_TRACED is
 * defined, an access to global memory before the call ends the test. */
void shim_set_early(bool early);
void shim_enter_kernel(void); /* each thread, when its parameters have been read */
void shim_wait_for_earlier(void);
/* cp.async: copies of the calling thread, complete after shim_copy_now. */
void shim_copy_later(void *to, const void *from, size_t bytes);
void shim_copy_now(void);
/* The proxy fence: wgmma of other threads reads what the calling thread has copied, after a barrier. */
void shim_fence_async(void);
/* Shared memory by the address that instructions take, which counts from the block's first byte. */
uint32_t shim_shared_address(const void *p);
const void *shim_shared_at(uint32_t address);

/* wgmma: a product of the calling thread, which `make` makes: when it is waited for, when it is issued, or between, as
 * copies are. Each of the four warps of a warpgroup issues the same products between two barriers. */
typedef struct ShimProduct {
    void (*make)(const struct ShimProduct *);
    float (*sums)[4]; /* of each eight columns */
    int columns;
    bool add, transposed;
    uint64_t left, right; /* descriptors; left 0: the two rows in `held` */
    uint32_t held[2][8];
} ShimProduct;
void shim_product_later(const ShimProduct *product);
void shim_products_commit(void);     /* makes a group of those since the last one */
void shim_products_now(int pending); /* waits for all groups but the last `pending` */
bool shim_by_wgmma(void);            /* whether kernels use it: not in the order SHIM_BACKWARD */
/* Waits for all threads of the warp; returns the 32 values that they brought. `place` is the same for all of them. */
const uint64_t *shim_meet(uint64_t value, ShimPlace place = SHIM_HERE);

template <class Body> static inline void shim_launch(ShimIndex grid, ShimIndex block, Body body)
{
    shim_run(
        grid, block, [](void *context) { (*(Body *)context)(); }, &body);
}

void __syncthreads(ShimPlace place = SHIM_HERE);
/* Waits for all threads of the warp, which then see what each of them has written. A shuffle or a vote does not promise
 * that. */
void __syncwarp(unsigned mask = ~0u, ShimPlace place = SHIM_HERE);
void __threadfence(void);
unsigned atomicAdd(unsigned *at, unsigned more);
unsigned atomicMax(unsigned *at, unsigned other);
/* Dies unless all 32 lanes are in the mask. */
void shim_check_mask(unsigned mask, ShimPlace place);

static inline int shim_lane(void)
{
    return (int)((threadIdx.y * blockDim.x + threadIdx.x) % 32);
}

template <class T> static inline T shim_value(unsigned mask, T value, int lane, ShimPlace place)
{
    uint64_t bits = 0;
    T result;
    shim_check_mask(mask, place);
    memcpy(&bits, &value, sizeof value);
    bits = shim_meet(bits, place)[lane];
    memcpy(&result, &bits, sizeof result);
    return result;
}

template <class T> static inline T __shfl_sync(unsigned mask, T value, int lane, ShimPlace place = SHIM_HERE)
{
    return shim_value(mask, value, lane, place);
}

template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int distance, ShimPlace place = SHIM_HERE)
{
    return shim_value(mask, value, shim_lane() ^ distance, place);
}

template <class T> static inline T __shfl_up_sync(unsigned mask, T value, int distance, ShimPlace place = SHIM_HERE)
{
    int lane = shim_lane();
    return shim_value(mask, value, lane < distance ? lane : lane - distance, place);
}

static inline unsigned __ballot_sync(unsigned mask, bool vote, ShimPlace place = SHIM_HERE)
{
    shim_check_mask(mask, place);
    const uint64_t *votes = shim_meet(vote, place);
    unsigned lanes = 0;
    for (int lane = 0; lane < 32; lane++)
        lanes |= votes[lane] ? 1u << lane : 0;
    return lanes;
}

static inline unsigned __match_any_sync(unsigned mask, unsigned value, ShimPlace place = SHIM_HERE)
{
    shim_check_mask(mask, place);
    const uint64_t *values = shim_meet(value, place);
    unsigned lanes = 0;
    for (int lane = 0; lane < 32; lane++)
        lanes |= values[lane] == value ? 1u << lane : 0;
    return lanes;
}

static inline int __popc(unsigned x)
{
    return __builtin_popcount(x);
}

static inline float rsqrtf(float x)
{
    return 1 / sqrtf(x);
}
