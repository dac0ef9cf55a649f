/* shards.h: reads the tensors of a folder from one file or from several files (shards). A folder with shards has an
 * index, such as model.safetensors.index.json, which says which file holds which tensor. */
#pragma once

#include "format/tensor_file.h"

#include <jansson.h>

/* One file of a folder with shards. Both fields are NULL if the folder has no index. */
typedef struct Shard {
    const json_t *weight_map; /* JSON object: name of a tensor -> name of the file that holds it */
    const char *name;         /* name of this file */
} Shard;

/* Whether, by the index, this file holds the tensor; always true without an index. */
bool shard_holds(const Shard *shard, const char *tensor);

/* A function that reads one file, `path`, and appends to `file` those of its tensors for which shard_holds is true. */
typedef bool (*ShardReader)(TensorFile *file, const char *path, const Shard *shard, GError **error);
/* Whether the folder has the file `single` ("model.safetensors") or the index of its shards
 * ("model.safetensors.index.json"). */
bool shards_present(const char *folder, const char *single);
/* Reads FOLDER/single or, if it is missing, FOLDER/single.index.json and the files that it names, in the order of their
 * names. It is an error if the index names something that is not a file of this folder, or if a file lacks a tensor
 * that it should have by the index. */
TensorFile *shards_open(const char *folder, const char *single, ShardReader read, GError **error);
