/* cast.h: numbers of any dtype, through f64 (exact for all but large i64; rounded to the nearest, ties to even, where
 * the new float dtype is narrower, truncated to integers). Inline: kernels compile it for their instruction set. */
#pragma once

#include "base/float16.h"
#include "device/tensor.h"

#include <string.h>

#define CAST_EACH(type, expression)                                                                                    \
    {                                                                                                                  \
        type *p = memory;                                                                                              \
        for (int64_t i = 0; i < n; i++)                                                                                \
            expression;                                                                                                \
        break;                                                                                                         \
    }

static inline void cast_load(double *values, void *memory, DType dtype, int64_t n)
{
    switch (dtype) {
    case DT_F32:
        CAST_EACH(float, values[i] = (double)p[i])
    case DT_BF16:
        CAST_EACH(uint16_t, values[i] = (double)bf16_to_f32(p[i]))
    case DT_F16:
        CAST_EACH(uint16_t, values[i] = (double)f16_to_f32(p[i]))
    case DT_F64:
        CAST_EACH(double, values[i] = p[i])
    case DT_I32:
        CAST_EACH(int32_t, values[i] = (double)p[i])
    case DT_I64:
        CAST_EACH(int64_t, values[i] = (double)p[i])
    case DT_COUNT:
        break;
    }
}

static inline void cast_store(void *memory, DType dtype, const double *values, int64_t n)
{
    switch (dtype) {
    case DT_F32:
        CAST_EACH(float, p[i] = (float)values[i])
    case DT_BF16:
        CAST_EACH(uint16_t, p[i] = bf16_from_f32((float)values[i]))
    case DT_F16:
        CAST_EACH(uint16_t, p[i] = f16_from_f32((float)values[i]))
    case DT_F64:
        CAST_EACH(double, p[i] = values[i])
    case DT_I32:
        CAST_EACH(int32_t, p[i] = (int32_t)values[i])
    case DT_I64:
        CAST_EACH(int64_t, p[i] = (int64_t)values[i])
    case DT_COUNT:
        break;
    }
}
#undef CAST_EACH

/* Converts n numbers from from_dtype to to_dtype; `to` and `from` may not overlap. */
static inline void cast_numbers(void *to, DType to_dtype, const void *from, DType from_dtype, int64_t n)
{
    enum { CHUNK = 256 };
    double values[CHUNK];
    size_t to_bytes = dtype_bytes(to_dtype), from_bytes = dtype_bytes(from_dtype);
    if (to_dtype == from_dtype) {
        memcpy(to, from, (size_t)n * to_bytes);
        return;
    }
    for (int64_t first = 0; first < n; first += CHUNK) {
        int64_t count = n - first < CHUNK ? n - first : CHUNK;
        cast_load(values, (char *)from + (size_t)first * from_bytes, from_dtype, count);
        cast_store((char *)to + (size_t)first * to_bytes, to_dtype, values, count);
    }
}
