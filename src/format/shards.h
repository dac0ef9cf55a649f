/* shards.h: reads the tensors of a folder that are in one file or in several (shards). With shards, an index, such as
 * model.safetensors.index.json, says which file holds which tensor. */
#pragma once

#include "format/tensor_file.h"

#include <jansson.h>

/* One file of a folder. Both fields are NULL if the folder has no index. */
typedef struct Shard {
    const json_t *weight_map; /* tensor -> file name */
    const char *name;         /* of this file */
} Shard;

/* Whether the index says that this file holds the tensor; always true without an index. */
bool shard_holds(const Shard *shard, const char *tensor);

/* Appends to `file` those tensors of `path` for which shard_holds is true. */
typedef bool (*ShardReader)(TensorFile *file, const char *path, const Shard *shard, GError **error);
/* Whether the folder holds `single` ("model.safetensors") or an index of its shards. */
bool shards_present(const char *folder, const char *single);
/* Reads FOLDER/single, or else FOLDER/single.index.json and the files that it names, in the order of their names. It is
 * an error if the index names anything but files of this folder, or a file lacks a tensor that the index says it has.
 */
TensorFile *shards_open(const char *folder, const char *single, ShardReader read, GError **error);
