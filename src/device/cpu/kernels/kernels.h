/* kernels.h: declarations for all kernels of the cpu; only for the files of this folder. Kernels are plain loops that
 * the compiler vectorises. Each file is compiled once per instruction set, with ISA defined as avx2, avx512,
 * avx512_bf16 or neon; functions with external linkage get the instruction set as a suffix (ISA_NAME). */
#pragma once

#include "base/check.h"
#include "device/cpu/cpu.h"
#include "device/cpu/share.h"

#define PASTE_(name, isa) name##_##isa
#define PASTE(name, isa)  PASTE_(name, isa)
#define ISA_NAME(name)    PASTE(name, ISA)

#define cpu_ops ISA_NAME(cpu_ops)

/* The name of the kernel of an operation: void KERNEL(scale)(Device *dev, Tensor y, …) is the kernel of op_scale. */
#define KERNEL(name) PASTE(PASTE_(cpu, name), ISA)

#define DECLARE_KERNEL(name) Op_##name KERNEL(name);
OPERATIONS(DECLARE_KERNEL)

/* Put before a loop whose iterations the compiler may vectorise. Two operands may be the same array, but not views of
 * one array that are shifted against each other. */
#define SIMD _Pragma("omp simd")

/* Marks a function that must not be inlined: copies of its loop in a caller's branches would not be vectorised. */
#define ONE_LOOP __attribute__((noinline))

/* Number of threads for an operation on `work` numbers: 1 for few numbers, since waking other threads takes as long as
 * computing about 16,384 numbers. */
static inline int team(const Device *dev, int64_t work)
{
    return work < 16384 ? 1 : dev->threads;
}

/* Aligns an array to a cache line: a vector access of 64 bytes that crosses a cache line takes twice as long. */
#define ALIGNED _Alignas(64)

/* Row `row` of an f32 tensor. */
static inline float *row_of(Tensor t, int64_t row)
{
    return (float *)t.p + row * t.ld;
}

/* `bytes`, rounded up to a multiple of 64. */
static inline size_t align64(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Runs of contiguous numbers that tensors of one shape are divided into: chunks of RUN_LENGTH numbers if all tensors
 * are contiguous, otherwise rows. */
typedef struct Runs {
    int64_t n, length, last, work; /* number of runs; numbers in a run; numbers in run n - 1; numbers in all runs */
    bool by_rows;                  /* true: a run is a row; false: a run is a chunk of all rows */
} Runs;

enum { RUN_LENGTH = 4096 };

static inline Runs runs_of(const Tensor *tensors, int n)
{
    int64_t rows = tensor_rows(tensors[0]), cols = tensor_cols(tensors[0]), count = rows * cols;
    bool contiguous = true;
    for (int i = 0; i < n; i++)
        contiguous &= rows <= 1 || tensors[i].ld == cols;
    if (!contiguous)
        return (Runs){ rows, cols, cols, count, true };
    int64_t pieces = (count + RUN_LENGTH - 1) / RUN_LENGTH;
    return (Runs){ pieces, RUN_LENGTH, count - (pieces - 1) * RUN_LENGTH, count, false };
}

/* Run i begins at column run_first of row run_row. */
static inline int64_t run_row(Runs runs, int64_t i)
{
    return runs.by_rows ? i : 0;
}

static inline int64_t run_first(Runs runs, int64_t i)
{
    return runs.by_rows ? 0 : i * runs.length;
}

static inline int64_t run_length(Runs runs, int64_t i)
{
    return i == runs.n - 1 ? runs.last : runs.length;
}

/* e^x with an error of at most 2 units in the last place, for x up to 88; an x below -87 counts as -87. The method: x =
 * n ln 2 + r with |r| <= ln 2 / 2, so e^x = 2^n e^r. Adding 1.5·2^23 to x / ln 2 leaves n in the low bits of the sum;
 * e^r is its Taylor polynomial of degree 7. */
static inline float exp_f32(float x)
{
    x = x < -87.0f ? -87.0f : x;
    float shifted = __builtin_fmaf(x, 1.44269504f, 12582912.0f), n = shifted - 12582912.0f;
    float r = __builtin_fmaf(n, -0.693145752f, x);
    r = __builtin_fmaf(n, -1.42860677e-6f, r);
    float p = 1.98412698e-4f;
    p = __builtin_fmaf(p, r, 1.38888889e-3f);
    p = __builtin_fmaf(p, r, 8.33333333e-3f);
    p = __builtin_fmaf(p, r, 4.16666667e-2f);
    p = __builtin_fmaf(p, r, 1.66666667e-1f);
    p = __builtin_fmaf(p, r, 0.5f);
    p = __builtin_fmaf(p, r, 1.0f);
    p = __builtin_fmaf(p, r, 1.0f);
    uint32_t bits, scale;
    __builtin_memcpy(&bits, &shifted, 4);
    __builtin_memcpy(&scale, &p, 4);
    scale += bits << 23;
    __builtin_memcpy(&p, &scale, 4);
    return p;
}
