/* cpu.h: what the files of the cpu backend share. */
#pragma once

#include "device/op_table.h"

/* y = alpha · op(a) op(b) + beta · y as op_gemm, of a and b in bf16 and y in bf16 or f32. */
typedef void Bf16Gemm(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta);

typedef struct Cpu {
    void *workspace;
    size_t workspace_bytes;
    Bf16Gemm *bf16_gemm; /* NULL: the processor has no instructions for it */
} Cpu;

/* Scratch memory of one operation, aligned to 64, not zeroed. It grows to the largest request ever made, so that a run
 * stops allocating after its first step. Call it outside parallel regions. */
void *cpu_workspace(Device *dev, size_t bytes);

/* Makes oneDNN use no newer instructions than `isa`; to be called before the first use of oneDNN. */
void cpu_gemm_limit(const char *isa);
void cpu_gemm(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta);
/* To be called before a parallel region that uses cpu_gemm_tile. */
void cpu_gemm_enter(const Device *dev);
/* y (m,n) = alpha a b + beta y over row-major arrays, by the calling thread: for tiles in a parallel region. */
typedef struct Panel {
    const float *p;
    int64_t ld;
    bool transposed;
} Panel;
void cpu_gemm_tile(float *y, int64_t ldy, Panel a, Panel b, int64_t m, int64_t n, int64_t k, float alpha, float beta);

extern const OpTable cpu_ops_avx2, cpu_ops_avx512; /* kernels/table.c, built twice */
