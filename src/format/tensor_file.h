/* tensor_file.h: the tensors of an open file of any format (safetensors, Flax, PyTorch): name, type, shape, values. */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define FILE_TENSOR_MAX_RANK 8

typedef struct FileTensor {
    const char *name;
    const char *dtype; /* the type's name in safetensors: "F32", "BF16", … */
    int rank;
    int64_t shape[FILE_TENSOR_MAX_RANK];
    const void *data; /* elements in row-major order, which may have any alignment */
    size_t bytes;     /* number of bytes of data */
    bool mapped;      /* data lies in a mapped file */
} FileTensor;

typedef struct TensorFile TensorFile; /* one file, or the shards of a folder; read-only */

void tensor_file_close(TensorFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TensorFile, tensor_file_close)
int tensor_file_count(const TensorFile *file);                                /* number of tensors */
const FileTensor *tensor_file_get(const TensorFile *file, int index);         /* tensor number `index` */
const FileTensor *tensor_file_find(const TensorFile *file, const char *name); /* NULL if there is none */
/* A text that the file holds beside its tensors, by its key; NULL if there is none. */
const char *tensor_file_metadata(const TensorFile *file, const char *key);
/* Copies elements [first, first + n) of F32, F16, BF16 or F64 to `out` as f32; other types are a user's error. */
bool file_tensor_read_f32(const FileTensor *tensor, int64_t first, int64_t n, float *out, GError **error);
/* Whether two tensors have the same shape and values, as f32 if their types differ. */
bool file_tensor_equal(const FileTensor *a, const FileTensor *b);
/* Tells the system that a tensor is not read again soon: pages of a mapped file that hold nothing else no longer count
 * as memory of this process. If the tensor is read again, so is the file. */
void file_tensor_leave(const FileTensor *tensor);

/* ---- for the readers of the formats ---- */

/* An element type of safetensors. */
typedef struct FileDType {
    const char *name; /* "F32" */
    int bits;         /* size of an element */
    /* Converts n elements, at any alignment, to f32. NULL means a type with which loam does not compute. */
    void (*to_f32)(float *out, const char *from, int64_t n);
    /* Converts n f32 numbers to this type, to nearest, ties to even. NULL means a type that loam does not write. */
    void (*from_f32)(void *out, const float *from, int64_t n);
} FileDType;

/* The entry of the type "F32", "BF16", …; NULL if there is no such type. The entries form a table ordered by ascending
 * alignment; safetensors_write.c writes the tensors of later entries first, as Hugging Face's writer does. */
const FileDType *file_dtype(const char *name);

TensorFile *tensor_file_new(void);
/* Makes `file` keep `memory`, which its tensors point to, until it is closed. Takes over the caller's reference. */
void tensor_file_own(TensorFile *file, GBytes *memory);
/* Appends a copy of *tensor and its name, not its elements; false if the file has a tensor of this name. */
bool tensor_file_add(TensorFile *file, const FileTensor *tensor);
void tensor_file_set_metadata(TensorFile *file, const char *key, const char *value);

/* One file of a folder with shards. Both fields are NULL if the folder has no index. */
typedef struct Shard {
    const json_t *weight_map; /* JSON object: name of a tensor -> name of the file that holds it */
    const char *name;         /* name of this file */
} Shard;
/* Whether, by the index, this file holds the tensor; always true without an index. */
bool shard_holds(const Shard *shard, const char *tensor);
/* A format: reads a mapped file and appends to `file` those of its tensors for which shard_holds is true. */
typedef bool (*TensorReader)(TensorFile *file, GMappedFile *map, const Shard *shard, GError **error);
/* Maps the file `path` and reads it. */
bool tensor_file_read(TensorFile *file, const char *path, const Shard *shard, TensorReader read, GError **error);
TensorFile *tensor_file_open(const char *path, TensorReader read, GError **error); /* a new TensorFile of this file */

/* ---- torch_file.c: reads files of PyTorch's torch.save: pytorch_model.bin of Hugging Face, checkpoints (.pt) of
 * fairseq. Since PyTorch 1.6 such a file is a zip archive; older ones are several pickles one after another. Nothing in
 * the file is executed: objects other than tensors and plain containers become placeholders (pickle.h). ---- */

/* Opens a file and finds every tensor in its dicts, lists and objects, in the order of the file. The name of a tensor
 * is the keys, indices and attributes that lead to it, joined with slashes: "model/encoder.embed_tokens.weight".
 * Numbers and texts become metadata with names made in the same way: "args/decoder_layers". Tensors whose layout or
 * type safetensors does not have are left out. */
TensorFile *torch_open(const char *path, GError **error);
/* The TensorReader of files of torch.save. */
bool torch_read(TensorFile *file, GMappedFile *map, const Shard *shard, GError **error);
/* Whether a file begins like a file of torch.save. */
bool torch_recognises(const char *path);

/* ---- flax.c: reads the arrays of a Flax checkpoint: one MessagePack document of nested maps whose leaves are numpy
 * arrays (T5X calls it a legacy checkpoint). ---- */

/* Opens a checkpoint. The name of a tensor is the keys of the maps that lead to it, joined with slashes:
 * "optimizer/target/encoder/layers_0/mlp/wo/kernel". Leaves that are not arrays are left out; unless `others` is NULL,
 * *others becomes the set of their names (char *, owned by the set), which the caller frees with g_hash_table_unref.
 * T5X stores large arrays in folders beside the file; in the file such a leaf is a text. */
TensorFile *flax_open(const char *path, GHashTable **others, GError **error);

/* ---- weights.c: opens the weights of a model, in the format of safetensors or of torch.save, from one file or from
 * several (shards). A folder with shards has an index, such as model.safetensors.index.json, which says which file
 * holds which tensor. ---- */

/* Opens a file or a folder. The format of a file is found by its first bytes. In a folder this looks for
 * model.safetensors, then for pytorch_model.bin, then for an adapter of PEFT, each as one file or as the shards that
 * its .index.json names. */
TensorFile *weights_open(const char *path, GError **error);
