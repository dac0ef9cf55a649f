#include "format/safetensors_dtype.h"

#include "base/float16.h"

#include <stdbool.h>
#include <string.h>

static void copy_f32(float *out, const char *from, int64_t n)
{
    memcpy(out, from, (size_t)n * sizeof(float));
}

#define TO_F32(name, type, convert)                                                                                    \
    static void name(float *out, const char *from, int64_t n)                                                          \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            type value;                                                                                                \
            memcpy(&value, from + i * (int64_t)sizeof value, sizeof value);                                            \
            out[i] = convert(value);                                                                                   \
        }                                                                                                              \
    }
TO_F32(widen_bf16, uint16_t, bf16_to_f32)
TO_F32(widen_f16, uint16_t, f16_to_f32)
TO_F32(narrow_f64, double, (float))

#define ROUND(name, convert)                                                                                           \
    static void name(void *out, const float *from, int64_t n)                                                          \
    {                                                                                                                  \
        uint16_t *to = out;                                                                                            \
        for (int64_t i = 0; i < n; i++)                                                                                \
            to[i] = convert(from[i]);                                                                                  \
    }
ROUND(round_bf16, bf16_from_f32)
ROUND(round_f16, f16_from_f32)

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
