#include "format/safetensors_dtype.h"

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

static const SafeDType dtypes[] = {
    { "BOOL", 8, NULL },    { "F4", 4, NULL },          { "F6_E2M3", 6, NULL },     { "F6_E3M2", 6, NULL },
    { "U8", 8, NULL },      { "I8", 8, NULL },          { "F8_E5M2", 8, NULL },     { "F8_E4M3", 8, NULL },
    { "F8_E8M0", 8, NULL }, { "F8_E4M3FNUZ", 8, NULL }, { "F8_E5M2FNUZ", 8, NULL }, { "I16", 16, NULL },
    { "U16", 16, NULL },    { "F16", 16, widen_f16 },   { "BF16", 16, widen_bf16 }, { "I32", 32, NULL },
    { "U32", 32, NULL },    { "F32", 32, copy_f32 },    { "C64", 64, NULL },        { "F64", 64, narrow_f64 },
    { "I64", 64, NULL },    { "U64", 64, NULL },
};

const SafeDType *safetensors_dtype(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(dtypes[i].name, name) == 0)
            return &dtypes[i];
    return NULL;
}
