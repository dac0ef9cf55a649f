/* gpu.h: declarations for all kernels and the functions that launch them: the names of CUDA, launches, scratch memory.
 *
 * One source serves two compilers: nvcc compiles it for GPUs, the host's compiler for the tests' simulated GPU, for
 * which it includes tests/shim/shim.h first and defines SHIM. What differs is in this file, in fragments.h and in
 * warpgroup.h, and for the host in tests/shim. */
#pragma once

extern "C" {
#include "base/check.h"
#include "base/float8.h"
#include "device/cuda/scratch.h"
#include "device/op_table.h"
}

#ifndef SHIM
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif
#include <cuda_runtime.h> /* on the host, the header in tests/shim/cuda */

enum { WARP = 32, MOST_THREADS = 1024, TICKETS = 4096 };
/* Bytes of shared memory of a multiprocessor of compute capability 8.6, 8.9 or 12.0 (others of 8.0 and later have
 * more), for all of its blocks; what CUDA takes of it for each block; what this leaves for one block. */
enum { LITTLE_SHARED = 100 << 10, BLOCK_SHARED = 1 << 10, MOST_SHARED = LITTLE_SHARED - BLOCK_SHARED };

/* An open GPU (dev->impl), with its stream, scratch memory and libraries. */
struct Gpu;

static inline Gpu *gpu_of(const Device *dev)
{
    return (Gpu *)dev->impl;
}

/* Returns scratch memory for one operation, aligned to 256 bytes, of unknown content; scratch.h says how much each
 * operation asks for. The memory is kept. A run sets apart what it plans (cuda_reserve); without that, the memory grows
 * to the largest request ever made. */
void *gpu_scratch(Gpu *gpu, size_t bytes);
/* Returns (TICKETS) counters in the GPU's memory, which are 0 between operations: see last_block in reduce.h. */
unsigned *gpu_tickets(Gpu *gpu);
/* Copies `rows` rows of `bytes` bytes each within the GPU's memory; consecutive rows are to_pitch bytes apart in `to`
 * and from_pitch bytes apart in `from`. */
void gpu_copy_rows(Gpu *gpu, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes, size_t rows);
/* Sets `bytes` bytes of the GPU's memory to 0. */
void gpu_clear(Gpu *gpu, void *p, size_t bytes);

/* Whether launches let kernels begin early (begin_kernel). */
bool gpu_begins_early(const Gpu *gpu);
/* Whether a multiprocessor's shared memory is at most LITTLE_SHARED bytes; data-centre GPUs have 164 KiB or more. */
bool gpu_shares_little(const Gpu *gpu);

/* Shape of a launch: number of thread blocks in the grid, and of threads in a block, in two dimensions. threads_x ·
 * threads_y is a multiple of WARP. */
struct Shape {
    unsigned blocks_x, blocks_y, threads_x, threads_y;
};

#ifdef SHIM
#include <shim/kernels_gpu.h>
#else
/* Most bytes of partial sums of attention backward (scratch_diagonals), most blocks that leave sums of distances
 * (scratch_distances). */
enum { PARTIAL_BYTES = PARTIAL_LIMIT, DISTANCE_BLOCKS = DISTANCE_LIMIT };

#define UNROLL   _Pragma("unroll")
#define UNROLL_8 _Pragma("unroll 8")
#define ROLLED   _Pragma("unroll 1")
#define APART    __noinline__ /* never inlined, since inlining it everywhere would take minutes of compile time */
/* Ends the kernel if the condition is false, such as an index out of range; every later call of CUDA then fails. */
#define KERNEL_CHECK(condition)                                                                                        \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            __trap();                                                                                                  \
    } while (0)

/* Whether the machine code that runs has the two instructions of begin_kernel. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
enum { MAY_BEGIN_EARLY = 1 };
#else
enum { MAY_BEGIN_EARLY = 0 };
#endif

/* The first statement of every kernel. launch_bytes asks CUDA that a kernel may begin before the kernel before it in
 * the stream has ended, so that the GPU starts its blocks meanwhile (programmatic dependent launch). The first
 * instruction lets the next kernel do so, as soon as all blocks of this one have begun: its blocks then take only room
 * that is left. The second waits until the kernel before has ended and all its stores can be read. Since every thread
 * of that kernel has waited in the same way, all kernels of the stream before it have ended, too. So no access to
 * global memory may come before this call. */
static __device__ inline void begin_kernel()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#endif
}

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

/* Two numbers in a word of 32 bits, by one instruction. */
static __device__ inline uint32_t two_bf16(float low, float high)
{
    uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

static __device__ inline uint32_t two_f16(float low, float high)
{
    uint32_t word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

/* Approximately 2^x and 1 / x, by one instruction each, with errors of 2 ulp; denormal results become 0. */
static __device__ inline float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

static __device__ inline float reciprocal_fast(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/* Returns shared memory: all threads of a block get the address of the same T. A kernel may use only one T. */
template <class T> static __device__ inline T *block_shared()
{
    __shared__ __align__(16) unsigned char memory[sizeof(T)];
    return reinterpret_cast<T *>(memory);
}

extern __shared__ __align__(1024) unsigned char gpu_large_memory[];

/* As block_shared, for kernels that launch_large starts. */
template <class T> static __device__ inline T *block_shared_large()
{
    return reinterpret_cast<T *>(gpu_large_memory);
}
#endif

/* The CUDA stream of QUEUE_WORK (device.h). */
cudaStream_t gpu_stream(Gpu *gpu);
/* Notes the operation that this thread starts, for errors: a name of op_list.inc, which stays valid, or NULL. */
void gpu_begin(const char *operation);
/* If `answer`, the result of a call of CUDA, is an error, ends the program with a one-line message: which operation was
 * refused, or that an earlier operation failed. `what` names the call. */
void gpu_answer(cudaError_t answer, const char *what);

/* Launches a kernel, which calls begin_kernel first, with `bytes` bytes of dynamic shared memory per block. */
template <class... Parameters, class... Arguments>
static void launch_bytes(Gpu *gpu, Shape shape, size_t bytes, void (*kernel)(Parameters...), Arguments... arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(shape.blocks_x, shape.blocks_y);
    config.blockDim = dim3(shape.threads_x, shape.threads_y);
    config.dynamicSmemBytes = bytes;
    config.stream = gpu_stream(gpu);
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &early;
    config.numAttrs = gpu_begins_early(gpu);
    gpu_answer(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), "a kernel");
}

/* Launches a kernel. */
template <class... Parameters, class... Arguments>
static void launch(Gpu *gpu, Shape shape, void (*kernel)(Parameters...), Arguments... arguments)
{
    launch_bytes(gpu, shape, 0, kernel, arguments...);
}

/* Launches a kernel that uses block_shared_large<T>; T may have up to MOST_SHARED bytes. */
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
