/* safetensors_dtype.h: the element types that a safetensors file may have. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One element type. */
typedef struct SafeDType {
    const char *name; /* "F32" */
    int bits;         /* size of an element */
    /* Converts n elements, which may have any alignment, to f32. NULL means that loam does not compute with this
     * type. */
    void (*to_f32)(float *out, const char *from, int64_t n);
    /* Converts n f32 numbers to this type, rounded to nearest, ties to even. NULL means that loam does not write this
     * type. */
    void (*from_f32)(void *out, const float *from, int64_t n);
} SafeDType;

/* The entry of the type "F32", "BF16", …; NULL if there is no such type. The entries form a table ordered by ascending
 * alignment; safetensors_write.c writes the tensors of later entries first, as Hugging Face's writer does. */
const SafeDType *safetensors_dtype(const char *name);
