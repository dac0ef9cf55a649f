/* safetensors.h: reads and writes safetensors, the tensor files of Hugging Face. The reader checks all that the
 * reference reader checks: the header has at most 100 MB and is UTF-8; there are no duplicate names, gaps, overlaps or
 * overflows. */
#pragma once

#include "format/shards.h"

/* Opens one .safetensors file. Its tensors are in the order of their offsets. */
TensorFile *safetensors_open(const char *path, GError **error);
/* Opens a .safetensors file that the caller has mapped; the tensors keep a reference to the mapping. */
TensorFile *safetensors_open_mapped(GMappedFile *map, GError **error);
/* Appends to `file` those tensors of `path` for which shard_holds is true. */
bool safetensors_read(TensorFile *file, const char *path, const Shard *shard, GError **error);

/* Writing: declare every tensor, then write. The same tensors give the same bytes whatever the order of declaration:
 * they are sorted by descending alignment of their dtype, then by name, and the header is padded to 8 bytes. */
typedef struct SafeWriter SafeWriter;
SafeWriter *safetensors_writer_new(void);
/* Adds an entry of the header's "__metadata__". */
void safetensors_writer_metadata(SafeWriter *writer, const char *key, const char *value);
/* data: elements in row-major order, which must stay alive until the write. */
void safetensors_writer_add(SafeWriter *writer, const char *name, const char *dtype, int rank, const int64_t *shape,
                            const void *data);
/* Declares a tensor whose data is read only when it is written: fetch(context, out) fills `out`. The writer frees the
 * context with g_free. */
typedef void (*SafeFetch)(const void *context, void *out);
void safetensors_writer_add_later(SafeWriter *writer, const char *name, const char *dtype, int rank,
                                  const int64_t *shape, SafeFetch fetch, void *context);
/* Call before the write: F32 tensors are stored as `dtype`, "BF16" or "F16", rounded to nearest. A value too large for
 * f16 is a user's error. */
void safetensors_writer_store_as(SafeWriter *writer, const char *dtype);
/* Writes and syncs one file at `path`, in place: to never leave a half-written file under a name, write to another name
 * and rename the file afterwards. */
bool safetensors_writer_write(SafeWriter *writer, const char *path, GError **error);
/* The xxh3-64 hash of the file that was written last, computed while it was written; *bytes becomes its size. */
uint64_t safetensors_writer_hash(const SafeWriter *writer, int64_t *bytes);
/* Writes model.safetensors into the folder; or, if the tensors have more than shard_bytes bytes (0 means no limit),
 * several files model-00001-of-0000N.safetensors and their model.safetensors.index.json. */
bool safetensors_writer_write_folder(SafeWriter *writer, const char *folder, int64_t shard_bytes, GError **error);
void safetensors_writer_free(SafeWriter *writer);
