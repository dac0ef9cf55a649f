/* safetensors.h: Hugging Face's tensor files. The reader makes every check of the reference reader: header of at most
 * 100 MB, UTF-8, no duplicates, holes, overlaps or overflow. */
#pragma once

#include "format/shards.h"

/* One .safetensors file; tensors in the order of their offsets. */
TensorFile *safetensors_open(const char *path, GError **error);
/* Opens a .safetensors file that the caller has mapped; the tensors keep a reference to the mapping. */
TensorFile *safetensors_open_mapped(GMappedFile *map, GError **error);
/* Appends to `file` those tensors of `path` for which shard_holds is true. */
bool safetensors_read(TensorFile *file, const char *path, const Shard *shard, GError **error);

/* Writing: declare every tensor, then write. The same tensors give the same bytes whatever the order of declaration:
 * they lie by descending alignment of their dtype, then by name, and the header is padded to 8 bytes. */
typedef struct SafeWriter SafeWriter;
SafeWriter *safetensors_writer_new(void);
void safetensors_writer_metadata(SafeWriter *writer, const char *key, const char *value);
/* data: elements in row-major order, which must stay alive until the write. */
void safetensors_writer_add(SafeWriter *writer, const char *name, const char *dtype, int rank, const int64_t *shape,
                            const void *data);
/* Declares a tensor whose data is fetched only while it is written: fetch(context, out) fills `out`. The writer frees
 * the context with g_free. */
typedef void (*SafeFetch)(const void *context, void *out);
void safetensors_writer_add_later(SafeWriter *writer, const char *name, const char *dtype, int rank,
                                  const int64_t *shape, SafeFetch fetch, void *context);
/* Call before the write: F32 tensors are stored as this type, "BF16" or "F16", rounded to the nearest. A value that f16
 * cannot hold is a user's error. */
void safetensors_writer_store_as(SafeWriter *writer, const char *dtype);
/* Writes and syncs one file at `path`, in place: a caller that must never leave a torn file renames it afterwards. */
bool safetensors_writer_write(SafeWriter *writer, const char *path, GError **error);
/* xxh3-64 and the size of the file that was written last, computed while it was written. */
uint64_t safetensors_writer_hash(const SafeWriter *writer, int64_t *bytes);
/* Writes model.safetensors into the folder, or, where the tensors have more than shard_bytes (0 means no limit), as
 * many model-00001-of-0000N.safetensors as it takes and their model.safetensors.index.json. */
bool safetensors_writer_write_folder(SafeWriter *writer, const char *folder, int64_t shard_bytes, GError **error);
void safetensors_writer_free(SafeWriter *writer);
