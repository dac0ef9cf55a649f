/* expected.h: numbers that another program computed, from a tensor file of tests/parity. */
#pragma once

#include "format/safetensors.h"

#include <glib.h>

/* The n numbers of a tensor in f32; to be freed. */
static inline float *read_expected(const TensorFile *expected, const char *name, int64_t n)
{
    GError *error = NULL;
    const FileTensor *tensor = tensor_file_find(expected, name);
    g_assert_nonnull(tensor);
    g_assert_cmpint((int64_t)tensor->bytes, ==, n * 4);
    float *values = g_new(float, (gsize)n);
    file_tensor_read_f32(tensor, 0, n, values, &error);
    g_assert_no_error(error);
    return values;
}
