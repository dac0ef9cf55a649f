#include "device/cpu/kernels/rows.h"

#include "base/float16.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

/* Conversions process NARROW_LINE 16-bit numbers, a cache line, at a time, and prefetch NARROW_AHEAD numbers ahead. */
enum { NARROW_LINE = 32, NARROW_AHEAD = 512 };

static void widen_bf16(float *restrict to, const uint16_t *restrict from, int64_t n)
{
    int64_t i = 0;
    for (; i + NARROW_LINE <= n; i += NARROW_LINE) {
        __builtin_prefetch(from + i + NARROW_AHEAD);
        SIMD for (int64_t c = i; c < i + NARROW_LINE; c++) to[c] = bf16_to_f32(from[c]);
    }
    SIMD for (int64_t c = i; c < n; c++) to[c] = bf16_to_f32(from[c]);
}

static inline void narrow_line(uint16_t *restrict to, const float *restrict from)
{
#ifdef __AVX512BF16__
    for (int i = 0; i < NARROW_LINE; i += 16)
        _mm256_storeu_si256((__m256i *)(to + i), (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(from + i)));
#else
    SIMD for (int i = 0; i < NARROW_LINE; i++) to[i] = bf16_from_f32(from[i]);
#endif
}

static void narrow_bf16(uint16_t *restrict to, const float *restrict from, int64_t n)
{
    int64_t i = 0;
    for (; i + NARROW_LINE <= n; i += NARROW_LINE) {
        __builtin_prefetch(to + i + NARROW_AHEAD, 1);
        narrow_line(to + i, from + i);
    }
    if (i < n) { /* the rest uses the same instructions, since others may treat denormal numbers differently */
        ALIGNED float rest[NARROW_LINE] = { 0 };
        uint16_t rounded[NARROW_LINE];
        memcpy(rest, from + i, (size_t)(n - i) * sizeof *from);
        narrow_line(rounded, rest);
        memcpy(to + i, rounded, (size_t)(n - i) * sizeof *to);
    }
}

/* Every processor with AVX2 has F16C, which converts eight numbers per instruction. */
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

#ifdef __AVX2__
enum { STORE = 16 }; /* 16-bit numbers that one instruction stores */

/* Stores n numbers, a multiple of STORE, with non-temporal stores; `to` is aligned to 32 bytes. */
static void store_far(uint16_t *to, const uint16_t *from, int64_t n)
{
    for (int64_t i = 0; i < n; i += STORE)
        _mm256_stream_si256((__m256i *)(to + i), _mm256_load_si256((const __m256i *)(from + i)));
}

void row_write_far(Tensor t, int64_t row, int64_t first, int64_t n, const float *from)
{
    enum { CHUNK = 512 };
    uint16_t *to = row_address(t, row, first);
    if (t.dtype == DT_F32 || (uintptr_t)to % 32 != 0 || n % STORE != 0) {
        row_write(t, row, first, n, from);
        return;
    }
    for (int64_t at = 0; at < n; at += CHUNK) {
        ALIGNED uint16_t rounded[CHUNK];
        int64_t length = min_i64(CHUNK, n - at);
        row_narrow(rounded, t.dtype, from + at, length);
        store_far(to + at, rounded, length);
    }
}

void row_written_far(void)
{
    _mm_sfence();
}
#else
void row_write_far(Tensor t, int64_t row, int64_t first, int64_t n, const float *from)
{
    row_write(t, row, first, n, from);
}

void row_written_far(void)
{
}
#endif
