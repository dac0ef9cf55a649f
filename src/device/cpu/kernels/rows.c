#include "device/cpu/kernels/rows.h"

#include "base/float16.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

static void widen_bf16(float *restrict to, const uint16_t *restrict from, int64_t n)
{
    SIMD for (int64_t i = 0; i < n; i++) to[i] = bf16_to_f32(from[i]);
}

static void narrow_bf16(uint16_t *restrict to, const float *restrict from, int64_t n)
{
    SIMD for (int64_t i = 0; i < n; i++) to[i] = bf16_from_f32(from[i]);
}

/* Every processor with AVX2 has F16C, which converts eight numbers an instruction. */
static void widen_f16(float *restrict to, const uint16_t *restrict from, int64_t n)
{
    int64_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i))));
#endif
    for (; i < n; i++)
        to[i] = f16_to_f32(from[i]);
}

static void narrow_f16(uint16_t *restrict to, const float *restrict from, int64_t n)
{
    int64_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i *)(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
    for (; i < n; i++)
        to[i] = f16_from_f32(from[i]);
}

void row_widen(float *to, const void *from, DType dtype, int64_t n)
{
    if (dtype == DT_BF16)
        widen_bf16(to, from, n);
    else
        widen_f16(to, from, n);
}

void row_narrow(void *to, DType dtype, const float *from, int64_t n)
{
    if (dtype == DT_BF16)
        narrow_bf16(to, from, n);
    else
        narrow_f16(to, from, n);
}
