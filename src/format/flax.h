/* flax.h: reads the arrays of a Flax checkpoint: one MessagePack document of nested maps whose leaves are numpy arrays
 * (T5X calls it a legacy checkpoint). */
#pragma once

#include "format/tensor_file.h"

/* Opens a checkpoint. The name of a tensor is the keys of the maps that lead to it, joined with slashes:
 * "optimizer/target/encoder/layers_0/mlp/wo/kernel". Leaves that are not arrays are left out; unless `others` is NULL,
 * *others becomes the set of their names (char *, owned by the set), which the caller frees with g_hash_table_unref.
 * T5X stores large arrays in folders beside the file; in the file such a leaf is a text. */
TensorFile *flax_open(const char *path, GHashTable **others, GError **error);
