/* cpu.h: what the files of the cpu backend share. */
#pragma once

#include "device/op_table.h"

typedef struct Bf16Products Bf16Products; /* bf16/bf16.h */

typedef struct Cpu {
    void *workspace;
    size_t workspace_bytes;
    const Bf16Products *bf16; /* NULL: the processor does not multiply bf16 */
} Cpu;

/* Scratch memory of one operation, aligned to 64, not zeroed. It grows to the largest request ever made, so that a run
 * stops allocating after its first step. Call it outside parallel regions. */
void *cpu_workspace(Device *dev, size_t bytes);

/* Makes oneDNN use no newer instructions than `isa`; to be called before the first use of oneDNN. */
void cpu_gemm_limit(const char *isa);
void cpu_gemm(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta);
/* To be called before a parallel region that uses cpu_gemm_tile. */
void cpu_gemm_enter(const Device *dev);
/* A factor of a product of tiles: a row-major array of a floating dtype. */
typedef struct Panel {
    const void *p;
    int64_t ld;
    bool transposed;
    DType dtype;
} Panel;
/* y (m,n) = alpha a b + beta y by the calling thread, for tiles in a parallel region; y is row-major. The products are
 * those of the device's compute dtype. Scratch is aligned to 64, of cpu_gemm_tile_bytes for these sizes or larger ones.
 */
void cpu_gemm_tile(Device *dev, float *y, int64_t ldy, Panel a, Panel b, int64_t m, int64_t n, int64_t k, float alpha,
                   float beta, void *scratch);
size_t cpu_gemm_tile_bytes(const Device *dev, int64_t m, int64_t n, int64_t k);

/* kernels/table.c, built for each */
extern const OpTable cpu_ops_avx2, cpu_ops_avx512, cpu_ops_avx512_bf16, cpu_ops_neon;
