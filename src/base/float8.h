/* float8.h: the two formats of FP8 (OCP 8-bit floating point): E4M3 has 3 bits of mantissa, no infinity and numbers up
 * to 448; E5M2 has 2 bits and numbers up to 57344. Conversions to FP8 round to nearest, ties to even; numbers beyond
 * the largest, and infinities, become the largest number with their sign; NaN stays NaN. The argument `e5m2` chooses
 * the format: false means E4M3, true means E5M2. No GLib here. */
#pragma once

#include "base/float16.h"

#include <stdbool.h>

/* The largest finite number of the format. */
HOST_DEVICE static inline float float8_largest(bool e5m2)
{
    return e5m2 ? 57344.0f : 448.0f;
}

/* Rounds x to a number of the format. The method: adding and then subtracting 1.5 · 2^(exponent of x + 23 - bits of
 * mantissa) rounds x to a multiple of the distance between neighbouring numbers of the format at x; below the smallest
 * normal number this distance no longer shrinks. */
static inline float float8_round(float x, bool e5m2)
{
    const uint32_t least = (127u - (e5m2 ? 14 : 6)) << 23;
    float size = fabsf(x);
    size = size > float8_largest(e5m2) ? float8_largest(e5m2) : size;
    uint32_t power = bits_of_f32(size) & 0x7F800000u;
    float shift = f32_of_bits(power < least ? least : power) * (e5m2 ? 0x1.8p21f : 0x1.8p20f);
    return copysignf(size + shift - shift, x);
}

static inline float float8_to_f32(uint8_t x, bool e5m2)
{
    if (e5m2) /* the upper half of an f16 */
        return f16_to_f32((uint16_t)((unsigned)x << 8));
    uint32_t exponent = x >> 3 & 15u, mantissa = x & 7u;
    float size = exponent == 0 ? (float)mantissa * 0x1p-9f : f32_of_bits((exponent + 120) << 23 | mantissa << 20);
    if ((x & 127) == 127)
        size = NAN;
    return x & 128 ? -size : size;
}

/* Rounds x to a number of the format and returns its byte; NaN becomes 0x7F. */
static inline uint8_t float8_from_f32(float x, bool e5m2)
{
    float rounded = float8_round(x, e5m2), size = fabsf(rounded);
    uint32_t bits = bits_of_f32(size), sign = bits_of_f32(rounded) >> 24 & 128;
    if (isnan(x))
        return 127;
    if (e5m2)
        return (uint8_t)(f16_from_f32(rounded) >> 8);
    return (uint8_t)(sign | (size < 0x1p-6f ? (uint32_t)(size * 0x1p9f) : (bits >> 20) - (120u << 3)));
}
