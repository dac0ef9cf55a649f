/* float16.h: converts bf16 (bfloat16) and f16 (IEEE half precision) to and from f32. Conversions from f32 round to
 * nearest, ties to even; NaN stays NaN. No GLib here. */
#pragma once

#include "base/host_device.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* The f32 with this bit pattern. */
HOST_DEVICE static inline float f32_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The bit pattern of an f32. */
HOST_DEVICE static inline uint32_t bits_of_f32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float bf16_to_f32(uint16_t x)
{
    return f32_of_bits((uint32_t)x << 16);
}

static inline uint16_t bf16_from_f32(float x)
{
    uint32_t bits = bits_of_f32(x);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u)
        return (uint16_t)(bits >> 16 | 64);
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

static inline float f16_to_f32(uint16_t x)
{
    uint32_t sign = (uint32_t)(x & 0x8000u) << 16, exponent = x >> 10 & 31u, mantissa = x & 1023u;
    if (exponent == 0) { /* zero and subnormals: a multiple of 2^-24, exact in f32 */
        float magnitude = (float)mantissa * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    return f32_of_bits(sign | (exponent == 31 ? 255u : exponent + 112u) << 23 | mantissa << 13);
}

static inline uint16_t f16_from_f32(float x)
{
    uint32_t bits = bits_of_f32(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u)
        return (uint16_t)(sign | 0x7E00u); /* NaN */
    if (magnitude >= 0x477FF000u)
        return (uint16_t)(sign | 0x7C00u); /* 65520 and above round to infinity */
    if (magnitude < 0x38800000u)           /* below 2^-14: a multiple of 2^-24 */
        return (uint16_t)(sign | (uint32_t)lrintf(fabsf(x) * 0x1p24f));
    magnitude += 0xFFFu + (magnitude >> 13 & 1u);
    return (uint16_t)(sign | (magnitude - 0x38000000u) >> 13);
}
