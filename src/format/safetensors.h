/* safetensors.h: reads and writes safetensors, the tensor files of Hugging Face. The reader checks as Hugging Face's: a
 * header of at most 100 MB of UTF-8, without duplicate names, gaps, overlaps or overflows. */
#pragma once

#include "format/tensor_file.h"

/* Opens one .safetensors file. The tensors are in the order of their offsets in the file. */
TensorFile *safetensors_open(const char *path, GError **error);
/* Opens a .safetensors file that the caller has mapped into memory; the result keeps a reference to the mapping. */
TensorFile *safetensors_open_mapped(GMappedFile *map, GError **error);
/* The TensorReader of .safetensors files. */
bool safetensors_read(TensorFile *file, GMappedFile *map, const Shard *shard, GError **error);

/* Writes a file: the caller first declares every tensor, then calls a function that writes. The same tensors give the
 * same bytes in whatever order they were declared: they are sorted by descending alignment of their dtype, then by
 * name, and the header is padded to a multiple of 8 bytes. */
typedef struct SafeWriter SafeWriter;
SafeWriter *safetensors_writer_new(void);
/* Adds an entry of the header's "__metadata__". */
void safetensors_writer_metadata(SafeWriter *writer, const char *key, const char *value);
/* Declares a tensor. dtype: "F32", "BF16", …; data: row-major elements, valid until the file is written. */
void safetensors_writer_add(SafeWriter *writer, const char *name, const char *dtype, int rank, const int64_t *shape,
                            const void *data);
/* Declares a tensor whose elements are asked for only when the file is written, `rows` rows of the first dimension at a
 * time (the last call: those that are left): fetch(context, first, n, out) then writes rows [first, first + n) to
 * `out`, which has room for no more. The writer frees the context with g_free. */
typedef void (*SafeFetch)(const void *context, int64_t first, int64_t n, void *out);
void safetensors_writer_add_later(SafeWriter *writer, const char *name, const char *dtype, int rank,
                                  const int64_t *shape, int64_t rows, SafeFetch fetch, void *context);
/* Makes the writer store F32 tensors as `dtype`, "BF16" or "F16", rounded to nearest; to be called before writing. A
 * value that is too large for F16 is a user's error of the function that writes. */
void safetensors_writer_store_as(SafeWriter *writer, const char *dtype);
/* Writes and syncs one file. It is written under its final name: a caller that must not leave a half-written file there
 * writes to another path and renames the file afterwards. */
bool safetensors_writer_write(SafeWriter *writer, const char *path, GError **error);
/* The xxh3-64 hash of the file that safetensors_writer_write has written last; *bytes becomes its size. */
uint64_t safetensors_writer_hash(const SafeWriter *writer, int64_t *bytes);
/* Writes model.safetensors into the folder; or, if the tensors have more than shard_bytes bytes (0 means no limit),
 * several files model-00001-of-0000N.safetensors and model.safetensors.index.json. */
bool safetensors_writer_write_folder(SafeWriter *writer, const char *folder, int64_t shard_bytes, GError **error);
void safetensors_writer_free(SafeWriter *writer);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(SafeWriter, safetensors_writer_free)
