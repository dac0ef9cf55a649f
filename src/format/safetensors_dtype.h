/* safetensors_dtype.h: the element types that a safetensors file may have. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct SafeDType {
    const char *name;
    int bits;
    /* Converts n elements, at any alignment, to f32; NULL for a type that loam does not compute with. */
    void (*to_f32)(float *out, const char *from, int64_t n);
    /* Rounds n f32 elements to the nearest, ties to even; NULL for a type that loam does not write. */
    void (*from_f32)(void *out, const float *from, int64_t n);
} SafeDType;

/* The entry of the type "F32", "BF16", …; NULL if there is no such type. Entries of the table are ordered by ascending
 * alignment, since safetensors_write.c writes tensors of later entries first, as the reference writer does. */
const SafeDType *safetensors_dtype(const char *name);
