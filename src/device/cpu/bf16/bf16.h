/* bf16.h: products of bf16 matrices with sums in f32, for processors that multiply bf16 themselves. The files of this
 * folder are compiled once for AVX-512-BF16 and once for AMX, with ISA defined as avx512_bf16 or amx. */
#pragma once

#include "device/cpu/cpu.h"

Bf16Gemm bf16_gemm_avx512_bf16, bf16_gemm_amx;
