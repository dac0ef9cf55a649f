/* cpu.h: functions and types that the files of the cpu backend share. */
#pragma once

#include "device/op_table.h"

typedef struct Bf16Products Bf16Products; /* bf16/bf16.h */

/* Private data of the cpu backend (Device.impl). */
typedef struct Cpu {
    void *workspace; /* the memory of cpu_workspace */
    size_t workspace_bytes;
    const Bf16Products *bf16; /* NULL means that the processor has no instructions for products of bf16 */
} Cpu;

/* Returns scratch memory for one operation, aligned to 64 bytes, not zeroed. It is kept and grows to the largest
 * request ever made, so that a run stops allocating after its first step. Must not be called in a parallel region. */
void *cpu_workspace(Device *dev, size_t bytes);

/* Restricts oneDNN to instruction set `isa` (Isa.name) and older ones; to be called before its first use. */
void cpu_gemm_limit(const char *isa);
/* y (m,n) = alpha · op(a) op(b) + beta · y for row-major f32 matrices, whose rows are lda, ldb and ldy elements apart.
 * In a parallel region only the calling thread computes. */
void cpu_sgemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a, int64_t lda,
               const float *b, int64_t ldb, float beta, float *y, int64_t ldy);
/* cpu_gemm for operands of bf16 or f16 on processors without instructions for their products: converts them to f32. */
void cpu_gemm_widened(Device *dev, Tensor y, Tensor a, Tensor b, Tensor bias, bool ta, bool tb, float alpha,
                      float beta);
/* Computes op_gemm (op_list.inc), and adds bias (N) to every row of y; bias may be NO_TENSOR. */
void cpu_gemm(Device *dev, Tensor y, Tensor a, Tensor b, Tensor bias, bool ta, bool tb, float alpha, float beta);
/* To be called before a parallel region that uses cpu_gemm_tile. */
void cpu_gemm_enter(const Device *dev);
/* An operand of cpu_gemm_tile: a row-major array of a floating dtype, whose rows are ld elements apart. */
typedef struct Panel {
    const void *p;
    int64_t ld;
    bool transposed;
    DType dtype;
} Panel;
/* y (m,n) = alpha a b + beta y, computed by the calling thread within a parallel region; y is row-major. Multiplies in
 * the device's compute dtype. scratch is aligned to 64 bytes and has at least cpu_gemm_tile_bytes(m, n, k) bytes. */
void cpu_gemm_tile(Device *dev, float *y, int64_t ldy, Panel a, Panel b, int64_t m, int64_t n, int64_t k, float alpha,
                   float beta, void *scratch);
size_t cpu_gemm_tile_bytes(const Device *dev, int64_t m, int64_t n, int64_t k);

/* The operations of the cpu, one table per instruction set (kernels/table.c). */
extern const OpTable cpu_ops_avx2, cpu_ops_avx512, cpu_ops_avx512_bf16, cpu_ops_neon;

/* An instruction set for which loam has kernels. */
typedef struct Isa {
    const char *name;
    bool (*has)(void);        /* whether this processor and its operating system support the instruction set */
    const OpTable *ops;       /* the kernels that are compiled for it */
    const Bf16Products *bf16; /* NULL means that it has no instructions for products of bf16 */
    bool (*fast_bf16)(void);  /* whether products of bf16 are faster than products of f32 on this processor; NULL if
                                 there are no products of bf16 */
} Isa;

/* The newest instruction set of this processor for which loam has kernels; or an older one, if the environment variable
 * LOAM_CPU_ISA names it (see device_cpu_problem in device.h). */
const Isa *cpu_isa(void);

/* Makes the calling thread treat denormal numbers (below 1.2e-38 in f32) as zero. */
void cpu_flush_denormals(void);
