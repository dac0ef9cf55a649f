/* kernels.h: for the files of this folder only. Each is compiled once for every instruction set, with ISA defined as
 * avx2, avx512, avx512_bf16 or neon: plain loops that the compiler vectorises. Every function with external linkage is
 * renamed here. */
#pragma once

#include "base/check.h"
#include "device/cpu/cpu.h"
#include "device/cpu/share.h"

#define PASTE_(name, isa) name##_##isa
#define PASTE(name, isa)  PASTE_(name, isa)
#define ISA_NAME(name)    PASTE(name, ISA)

#define cpu_ops ISA_NAME(cpu_ops)

/* The kernel of an operation: void KERNEL(scale)(Device *dev, Tensor y, …). That of gemm is cpu/gemm.c. */
#define KERNEL(name) PASTE(PASTE_(cpu, name), ISA)

#define OP(name, parameters, arguments, operands, rules, flops) void KERNEL(name) parameters;
#include "device/op_list.inc"
#undef OP

/* A loop whose iterations may run side by side; operands may be the same array, never shifted views of one. */
#define SIMD _Pragma("omp simd")

/* A function whose loop the compiler may not copy into the branches of its caller, such as those of row_read: the
 * copies are no longer vectorised. */
#define ONE_LOOP __attribute__((noinline))

/* Threads for an operation over `work` numbers: waking other threads costs as much as about 16 Ki numbers. */
static inline int team(const Device *dev, int64_t work)
{
    return work < 16384 ? 1 : dev->threads;
}

/* Arrays of f32 that kernels compute in: an access of 64 bytes that crosses two cache lines takes twice as long. */
#define ALIGNED _Alignas(64)

static inline float *row_of(Tensor t, int64_t row)
{
    return (float *)t.p + row * t.ld;
}

static inline size_t align64(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Tensors of one shape as runs of contiguous numbers: chunks of RUN_LENGTH where all are contiguous, else rows. */
typedef struct Runs {
    int64_t n, length, last, work; /* `last` is the length of run n - 1 */
    bool by_rows;                  /* false means that all rows are one */
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

/* Run i begins at number run_first of row run_row. */
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

/* e^x to 2 units in the last place, for x up to 88; x below -87 counts as -87. x = n ln 2 + r by adding 1.5·2^23, which
 * leaves n in the low bits; e^r by its Taylor polynomial of degree 7 over |r| <= ln 2 / 2. */
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
