/* safetensors_dtype.h: the element types a safetensors file may name. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct SafeDType {
    const char *name;
    int bits;
    /* Widens n elements; NULL for types that f32 does not stand for. from is not aligned to anything. */
    void (*to_f32)(float *out, const char *from, int64_t n);
    /* Rounds n elements to the nearest, ties to even; NULL where nothing is written from f32. */
    void (*from_f32)(void *out, const float *from, int64_t n);
} SafeDType;

/* NULL if unknown. Rows lie by rising alignment, as in the reference writer: a later row is written first. */
const SafeDType *safetensors_dtype(const char *name);
