/* bf16.h: products of bf16 matrices with sums in f32, for processors that multiply bf16 themselves. The files of this
 * folder are compiled once for AVX-512-BF16 and once for AMX, with ISA defined as avx512_bf16 or amx. */
#pragma once

#include "device/cpu/cpu.h"

typedef struct Head Head; /* device/cpu/attention.h */
typedef struct HeadBwd HeadBwd;

struct Bf16Products {
    /* y = alpha · op(a) op(b) + beta · y as op_gemm, of a and b in bf16 and y in bf16 or f32. */
    void (*gemm)(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta);
    /* As cpu_gemm_tile, of a and b in bf16, or in f32, which is rounded. */
    void (*tile)(float *y, int64_t ldy, Panel a, Panel b, int64_t m, int64_t n, int64_t k, float alpha, float beta,
                 void *scratch);
    /* Attention of a head whose tensors are bf16, and its gradients, by the calling thread. Memory, aligned to 64, is
     * of so many bytes, for heads of `size` channels. */
    size_t (*attention_fwd_bytes)(const AttnSpec *spec, int64_t size);
    size_t (*attention_bwd_bytes)(const AttnSpec *spec, int64_t size);
    void (*attention_fwd)(Tensor o, float *lse, const Head *head, void *memory);
    /* dk, dv (tk,size) are sums over the heads of queries that share a head of keys, kept in memory from the first to
     * the last of them, which writes them. */
    void (*attention_bwd)(const HeadBwd *hb, Tensor dk, Tensor dv, bool first, bool last, void *memory);
};

extern const Bf16Products bf16_products_avx512_bf16, bf16_products_amx;
