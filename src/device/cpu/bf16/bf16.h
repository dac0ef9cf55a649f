/* bf16.h: products of bf16 matrices with sums in f32, for processors that have instructions for such products. The
 * files of this folder are compiled twice: for AVX-512-BF16 and for AMX, with ISA defined as avx512_bf16 or amx. */
#pragma once

#include "device/cpu/cpu.h"

typedef struct Head Head; /* device/cpu/attention.h */
typedef struct HeadBwd HeadBwd;

/* The functions of one instruction set. */
struct Bf16Products {
    /* As cpu_gemm (cpu.h), for a and b in bf16 and y in bf16 or f32. */
    void (*gemm)(Device *dev, Tensor y, Tensor a, Tensor b, Tensor bias, bool ta, bool tb, float alpha, float beta);
    /* As cpu_gemm_tile (cpu.h), for a and b in bf16, or in f32, whose numbers are rounded to bf16. */
    void (*tile)(float *y, int64_t ldy, Panel a, Panel b, int64_t m, int64_t n, int64_t k, float alpha, float beta,
                 void *scratch);
    /* Attention of one head of bf16 tensors, and its gradients, by the calling thread. memory: scratch memory, aligned
     * to 64 bytes, of attention_fwd_bytes or attention_bwd_bytes for heads of `size` channels. */
    size_t (*attention_fwd_bytes)(const AttnSpec *spec, int64_t size);
    size_t (*attention_bwd_bytes)(const AttnSpec *spec, int64_t size);
    void (*attention_fwd)(Tensor o, float *lse, const Head *head, void *memory);
    /* dk, dv (tk,size) are sums over the query heads that share a key head (grouped-query attention). `memory` keeps
     * the sums from the first of these heads (`first`) to the last (`last`), which writes dk and dv. */
    void (*attention_bwd)(const HeadBwd *hb, Tensor dk, Tensor dv, bool first, bool last, void *memory);
};

extern const Bf16Products bf16_products_avx512_bf16, bf16_products_amx;
