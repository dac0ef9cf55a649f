/* cast.h: converts numbers between any two dtypes, through f64 (exact except for large i64). Conversion to a narrower
 * floating dtype rounds to nearest, ties to even (f64 and integers become bf16, f16 or FP8 by way of f32, so they are
 * rounded twice); conversion to an integer truncates. The functions are inline, so that each kernel file compiles them
 * for its instruction set. */
#pragma once

#include "base/float8.h"
#include "device/tensor.h"

/* All dtypes: X(dtype, its C type, expression that converts x of this type to f64, expression for the reverse). */
#define CAST_DTYPES(X)                                                                                                 \
    X(DT_F32, float, (double)x, (float)x)                                                                              \
    X(DT_BF16, uint16_t, (double)bf16_to_f32(x), bf16_from_f32((float)x))                                              \
    X(DT_F16, uint16_t, (double)f16_to_f32(x), f16_from_f32((float)x))                                                 \
    X(DT_F64, double, x, x)                                                                                            \
    X(DT_I32, int32_t, (double)x, (int32_t)x)                                                                          \
    X(DT_I64, int64_t, (double)x, (int64_t)x)                                                                          \
    X(DT_E4M3, uint8_t, (double)float8_to_f32(x, false), float8_from_f32((float)x, false))                             \
    X(DT_E5M2, uint8_t, (double)float8_to_f32(x, true), float8_from_f32((float)x, true))
#define CAST_LOAD(dtype, type, from, to)                                                                               \
    case dtype:                                                                                                        \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            type x = ((const type *)memory)[i];                                                                        \
            values[i] = from;                                                                                          \
        }                                                                                                              \
        break;
#define CAST_STORE(dtype, type, from, to)                                                                              \
    case dtype:                                                                                                        \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            double x = values[i];                                                                                      \
            ((type *)memory)[i] = to;                                                                                  \
        }                                                                                                              \
        break;

/* Reads n numbers of `dtype` at memory into values (n). */
static inline void cast_load(double *values, const void *memory, DType dtype, int64_t n)
{
    switch (dtype) {
        CAST_DTYPES(CAST_LOAD)
    case DT_COUNT:
        break;
    }
}

/* Writes values (n) to memory as n numbers of `dtype`. */
static inline void cast_store(void *memory, DType dtype, const double *values, int64_t n)
{
    switch (dtype) {
        CAST_DTYPES(CAST_STORE)
    case DT_COUNT:
        break;
    }
}

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
        cast_load(values, (const char *)from + (size_t)first * from_bytes, from_dtype, count);
        cast_store((char *)to + (size_t)first * to_bytes, to_dtype, values, count);
    }
}
