#include "format/safetensors_dtype.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static void copy_f32(float *out, const char *from, int64_t n)
{
    memcpy(out, from, (size_t)n * sizeof(float));
}

static void widen_bf16(float *out, const char *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;
        memcpy(&half, from + 2 * i, 2);
        uint32_t bits = (uint32_t)half << 16;
        memcpy(out + i, &bits, 4);
    }
}

static float f16_value(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 31u, mantissa = half & 1023u;
    if (exponent == 0) { /* zero and subnormals: a multiple of 2^-24, exact in f32 */
        float magnitude = (float)mantissa * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    uint32_t bits = sign | (exponent == 31 ? 255u : exponent + 112u) << 23 | mantissa << 13;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static void widen_f16(float *out, const char *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;
        memcpy(&half, from + 2 * i, 2);
        out[i] = f16_value(half);
    }
}

static void narrow_f64(float *out, const char *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double value;
        memcpy(&value, from + 8 * i, 8);
        out[i] = (float)value;
    }
}

static void round_bf16(void *out, const float *from, int64_t n)
{
    uint16_t *to = out;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, from + i, 4);
        bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
        to[i] = (uint16_t)(nan ? bits >> 16 | 0x40u : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
    }
}

static uint16_t f16_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u); /* NaN */
    if (magnitude >= 0x477ff000u)
        return (uint16_t)(sign | 0x7c00u); /* 65520 and above round to infinity */
    if (magnitude < 0x38800000u)           /* below 2^-14: a multiple of 2^-24 */
        return (uint16_t)(sign | (uint32_t)lrintf(fabsf(value) * 0x1p24f));
    magnitude += 0xfffu + (magnitude >> 13 & 1u);
    return (uint16_t)(sign | (magnitude - 0x38000000u) >> 13);
}

static void round_f16(void *out, const float *from, int64_t n)
{
    uint16_t *to = out;
    for (int64_t i = 0; i < n; i++)
        to[i] = f16_bits(from[i]);
}

static const SafeDType dtypes[] = {
    { "BOOL", 8, NULL, NULL },
    { "F4", 4, NULL, NULL },
    { "F6_E2M3", 6, NULL, NULL },
    { "F6_E3M2", 6, NULL, NULL },
    { "U8", 8, NULL, NULL },
    { "I8", 8, NULL, NULL },
    { "F8_E5M2", 8, NULL, NULL },
    { "F8_E4M3", 8, NULL, NULL },
    { "F8_E8M0", 8, NULL, NULL },
    { "F8_E4M3FNUZ", 8, NULL, NULL },
    { "F8_E5M2FNUZ", 8, NULL, NULL },
    { "I16", 16, NULL, NULL },
    { "U16", 16, NULL, NULL },
    { "F16", 16, widen_f16, round_f16 },
    { "BF16", 16, widen_bf16, round_bf16 },
    { "I32", 32, NULL, NULL },
    { "U32", 32, NULL, NULL },
    { "F32", 32, copy_f32, NULL },
    { "C64", 64, NULL, NULL },
    { "F64", 64, narrow_f64, NULL },
    { "I64", 64, NULL, NULL },
    { "U64", 64, NULL, NULL },
};

const SafeDType *safetensors_dtype(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return &dtypes[i];
    return NULL;
}
