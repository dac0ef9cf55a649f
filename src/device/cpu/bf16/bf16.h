/* bf16.h: products of bf16 matrices with sums in f32, for processors that multiply bf16 themselves. The files of this
 * folder are compiled once for AVX-512-BF16 and once for AMX, with ISA defined as avx512_bf16 or amx. */
#pragma once

#include "device/cpu/cpu.h"

struct Bf16Products {
    /* As cpu_gemm, of a and b in bf16 and y in bf16 or f32. */
    void (*gemm)(Device *dev, Tensor y, Tensor a, Tensor b, Tensor bias, bool ta, bool tb, float alpha, float beta);
    /* As cpu_gemm_tile, of a and b in bf16, or in f32, which is rounded. */
    void (*tile)(float *y, int64_t ldy, Panel a, Panel b, int64_t m, int64_t n, int64_t k, float alpha, float beta,
                 void *scratch);
};

extern const Bf16Products bf16_products_avx512_bf16, bf16_products_amx;
