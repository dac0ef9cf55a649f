/* kernels_gpu.h: for the host, what src/device/cuda/kernels/gpu.h has for GPUs: loops, conversions of numbers, shared
 * memory of a block. gpu.h includes it, and says what each of them does. */
#pragma once

/* Few, so that the tests see parts. */
enum { PARTIAL_BYTES = 16 << 10, DISTANCE_BLOCKS = 8 };

#define UNROLL
#define UNROLL_8
#define ROLLED
#define APART
#define KERNEL_CHECK(condition) CHECK(condition, "in block %u of a kernel, thread %u", blockIdx.x, threadIdx.x)

enum { MAY_BEGIN_EARLY = 1 };

static inline void begin_kernel()
{
    shim_wait_for_earlier();
}

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

static inline uint32_t two_bf16(float low, float high)
{
    return to_bf16(low) | (uint32_t)to_bf16(high) << 16;
}

static inline uint32_t two_f16(float low, float high)
{
    return to_f16(low) | (uint32_t)to_f16(high) << 16;
}

static inline float exp2_fast(float x)
{
    return exp2f(x);
}

static inline float reciprocal_fast(float x)
{
    return 1 / x;
}

template <class T> static inline T *block_shared()
{
    return (T *)shim_shared(sizeof(T));
}

template <class T> static inline T *block_shared_large()
{
    return (T *)shim_shared_large(sizeof(T));
}
