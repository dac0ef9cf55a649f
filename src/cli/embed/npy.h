/* npy.h: writes a matrix of f32 row by row as a NumPy file (.npy). */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef struct NpyWriter NpyWriter;

/* Writes to a temporary file, which npy_close renames to PATH. */
NpyWriter *npy_create(const char *path, int64_t cols, GError **error);
bool npy_write_row(NpyWriter *writer, const float *row, GError **error);
/* Writes the number of rows into the header, syncs and renames the file. Frees the writer, also on error. */
bool npy_close(NpyWriter *writer, GError **error);
void npy_abort(NpyWriter *writer); /* removes the temporary file and frees the writer; NULL is ignored */
