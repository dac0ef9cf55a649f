/* safetensors.h: reading and writing Hugging Face's tensor files (one file; sharded folders through their index). The
 * reader makes every check of the reference reader: header <= 100 MB, UTF-8, no duplicates, holes, overlaps or
 * overflow. */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define SAFETENSORS_MAX_RANK 8

typedef struct SafeTensor {
    const char *name;
    const char *dtype; /* "F32", "BF16", … as in the file */
    int rank;
    int64_t shape[SAFETENSORS_MAX_RANK];
    const void *data; /* mapped; not aligned to anything */
    size_t bytes;
} SafeTensor;

typedef struct SafeTensors SafeTensors;

SafeTensors *safetensors_open(const char *path, GError **error); /* one .safetensors file, mapped */
/* The same of a file that the caller has mapped; the tensors keep a reference to the mapping. */
SafeTensors *safetensors_open_mapped(GMappedFile *map, GError **error);
/* A folder with model.safetensors, or model.safetensors.index.json and its shards. */
SafeTensors *safetensors_open_folder(const char *path, GError **error);
void safetensors_close(SafeTensors *file);
int safetensors_count(const SafeTensors *file);
const SafeTensor *safetensors_get(const SafeTensors *file, int index); /* by offset */
const SafeTensor *safetensors_find(const SafeTensors *file, const char *name);
const char *safetensors_metadata(const SafeTensors *file, const char *key); /* NULL if absent */
/* Copies elements [first, first + n) as f32; F32, F16, BF16, F64 are understood, others are a user's error. */
bool safetensors_read_f32(const SafeTensor *tensor, int64_t first, int64_t n, float *out, GError **error);

/* Writing: declare every tensor, then give their bytes in the order of safetensors_writer_next. Written to `path`
 * through io_*() (fsynced, no rename: the caller owns the directory's atomicity). Tensors lie by descending dtype
 * alignment, then name, the header is padded to 8 bytes: the same tensors give the same bytes whatever the order of
 * declaration. */
typedef struct SafeWriter SafeWriter;
SafeWriter *safetensors_writer_new(void);
void safetensors_writer_metadata(SafeWriter *writer, const char *key, const char *value);
void safetensors_writer_add(SafeWriter *writer, const char *name, const char *dtype, int rank, const int64_t *shape,
                            const void *data); /* data must stay alive until the write; rows contiguous */
/* The same of a tensor that is fetched when it is written, alone: fetch(context, out) fills `out`. The writer frees the
 * context with g_free. */
typedef void (*SafeFetch)(const void *context, void *out);
void safetensors_writer_add_later(SafeWriter *writer, const char *name, const char *dtype, int rank,
                                  const int64_t *shape, SafeFetch fetch, void *context);
/* F32 tensors are written as this type, "BF16" or "F16", rounded to the nearest; before the write. A value that f16
 * cannot hold is a user's error. */
void safetensors_writer_store_as(SafeWriter *writer, const char *dtype);
bool safetensors_writer_write(SafeWriter *writer, const char *path, GError **error);
/* xxh3-64 and the size of the file that was written last, computed while it was written. */
uint64_t safetensors_writer_hash(const SafeWriter *writer, int64_t *bytes);
/* model.safetensors in the folder, or where the tensors have more than shard_bytes (0: no limit) as many
 * model-00001-of-0000N.safetensors as it takes, and their model.safetensors.index.json. */
bool safetensors_writer_write_folder(SafeWriter *writer, const char *folder, int64_t shard_bytes, GError **error);
void safetensors_writer_free(SafeWriter *writer);
