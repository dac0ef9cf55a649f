/* shards.h: the tensors of a folder, in one file or in several (shards); an index, such as
 * model.safetensors.index.json, then says which file holds which tensor. */
#pragma once

#include "format/tensor_file.h"

#include <jansson.h>

/* A file of the folder; both fields are NULL for a file without an index. */
typedef struct Shard {
    const json_t *weight_map; /* tensor -> file name */
    const char *name;         /* of this file */
} Shard;

/* Whether the index says that this file holds the tensor; a file without an index holds all its tensors. */
bool shard_holds(const Shard *shard, const char *tensor);

/* Appends to `file` the tensors of `path` that the shard holds. */
typedef bool (*ShardReader)(TensorFile *file, const char *path, const Shard *shard, GError **error);
/* Whether the folder holds `single` ("model.safetensors") or an index of its shards. */
bool shards_present(const char *folder, const char *single);
/* Reads FOLDER/single, or else FOLDER/single.index.json and the files that it names, in the order of their names. An
 * index must name plain files of the folder, and each must hold the tensors that it says. */
TensorFile *shards_open(const char *folder, const char *single, ShardReader read, GError **error);
