/* gpu.h: CUDA's names, launches and scratch memory, for kernels and the functions that launch them.
 *
 * A kernel has one source for two compilers: nvcc for GPUs, and in the tests the host's compiler, which includes
 * tests/shim/shim.h first (the simulated GPU). All differences between the two are in this file and in shim.h. */
#pragma once

extern "C" {
#include "base/check.h"
#include "base/float8.h"
#include "device/op_table.h"
}

#ifndef SHIM
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif
#include <cuda_runtime.h> /* on the host, the header in tests/shim/cuda */

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { WARP = 32, MOST_THREADS = 1024, TICKETS = 4096 };
enum {
    MOST_SHARED = 99 << 10
}; /* bytes of shared memory of a thread block, on every GPU of compute capability 8.0 and later */

/* An open GPU (dev->impl): its stream, scratch memory, libraries. */
struct Gpu;

static inline Gpu *gpu_of(const Device *dev)
{
    return (Gpu *)dev->impl;
}

/* Returns scratch memory for one operation, aligned to 256 bytes, of unknown content. It grows to the largest request
 * ever made. */
void *gpu_scratch(Gpu *gpu, size_t bytes);
/* (TICKETS) counters that are 0 between operations: see last_block in reduce.h. */
unsigned *gpu_tickets(Gpu *gpu);
/* Copies `rows` runs of `bytes` bytes, which are to_pitch and from_pitch bytes apart, within the device's memory. */
void gpu_copy_rows(Gpu *gpu, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes, size_t rows);

/* Shape of a launch: blocks of the grid, and threads of a block. threads_x · threads_y is a multiple of WARP. */
struct Shape {
    unsigned blocks_x, blocks_y, threads_x, threads_y;
};

#ifdef SHIM
#define UNROLL
#define ROLLED
#define APART
#define KERNEL_CHECK(condition) CHECK(condition, "in block %u of a kernel, thread %u", blockIdx.x, threadIdx.x)

static inline uint16_t to_bf16(float x)
{
    return bf16_from_f32(x);
}

static inline float from_f16(uint16_t x)
{
    return f16_to_f32(x);
}

static inline uint16_t to_f16(float x)
{
    return f16_from_f32(x);
}

/* Shared memory of the block: every thread gets the address of the same T. A kernel uses only one type T. */
template <class T> static inline T *block_shared()
{
    return (T *)shim_shared(sizeof(T));
}

/* block_shared for kernels that launch_large starts. */
template <class T> static inline T *block_shared_large()
{
    return (T *)shim_shared_large(sizeof(T));
}
#else
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")
#define APART                                                                                                          \
    __noinline__ /* a function that is not inlined, since inlining it everywhere would take minutes of compile time */
/* Ends a kernel that finds an index out of range; every later call of CUDA then fails. */
#define KERNEL_CHECK(condition)                                                                                        \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            __trap();                                                                                                  \
    } while (0)

static __device__ inline uint16_t to_bf16(float x)
{
    return __bfloat16_as_ushort(__float2bfloat16_rn(x));
}

static __device__ inline float from_f16(uint16_t x)
{
    return __half2float(__ushort_as_half(x));
}

static __device__ inline uint16_t to_f16(float x)
{
    return __half_as_ushort(__float2half_rn(x));
}

template <class T> static __device__ inline T *block_shared()
{
    __shared__ __align__(16) unsigned char memory[sizeof(T)];
    return reinterpret_cast<T *>(memory);
}

extern __shared__ __align__(16) unsigned char gpu_large_memory[];

template <class T> static __device__ inline T *block_shared_large()
{
    return reinterpret_cast<T *>(gpu_large_memory);
}
#endif

cudaStream_t gpu_stream(Gpu *gpu);
/* Sets the name of the operation that the calling thread starts, for messages of failures: an entry of op_list.inc, or
 * NULL. The pointer is kept. */
void gpu_begin(const char *operation);
/* Ends the program with a one-line message if CUDA returned an error: which operation was refused, or that an earlier
 * one failed. `what` names the call of CUDA. */
void gpu_answer(cudaError_t answer, const char *what);

template <class... Parameters, class... Arguments>
static void launch_bytes(Gpu *gpu, Shape shape, size_t bytes, void (*kernel)(Parameters...), Arguments... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(shape.blocks_x, shape.blocks_y);
    config.blockDim = dim3(shape.threads_x, shape.threads_y);
    config.dynamicSmemBytes = bytes;
    config.stream = gpu_stream(gpu);
    gpu_answer(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), "a kernel");
}

template <class... Parameters, class... Arguments>
static void launch(Gpu *gpu, Shape shape, void (*kernel)(Parameters...), Arguments... arguments)
{
    launch_bytes(gpu, shape, 0, kernel, arguments...);
}

/* Launches a kernel that uses a T of shared memory, up to MOST_SHARED bytes (block_shared_large). */
template <class T, class... Parameters, class... Arguments>
static void launch_large(Gpu *gpu, Shape shape, void (*kernel)(Parameters...), Arguments... arguments)
{
    static_assert(sizeof(T) <= MOST_SHARED, "more shared memory than a block may have");
    gpu_answer(cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(T)),
               "shared memory");
    launch_bytes(gpu, shape, sizeof(T), kernel, arguments...);
}

HOST_DEVICE static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

HOST_DEVICE static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t rows_of(Tensor t)
{
    return t.rank == 0 ? 0 : t.rank == 1 ? 1 : t.d[0];
}

static inline int64_t cols_of(Tensor t)
{
    return t.rank == 0 ? 0 : t.d[t.rank - 1];
}
