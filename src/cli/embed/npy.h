/* npy.h: a matrix of f32 as NumPy's .npy, written row by row. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef struct NpyWriter NpyWriter;

/* Writes a file beside PATH, which gets its name when it is whole. */
NpyWriter *npy_create(const char *path, int64_t cols, GError **error);
bool npy_write_row(NpyWriter *writer, const float *row, GError **error);
/* Says how many rows there are, syncs and renames; always frees. */
bool npy_close(NpyWriter *writer, GError **error);
void npy_abort(NpyWriter *writer); /* leaves nothing; NULL will do */
