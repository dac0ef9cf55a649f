/* flax.h: reads the arrays of a Flax checkpoint: one MessagePack document of nested maps whose leaves are numpy arrays
 * (T5X calls it a legacy checkpoint). */
#pragma once

#include "format/tensor_file.h"

/* Opens a checkpoint. The name of a tensor is the keys of the maps that lead to it, joined with slashes:
 * "optimizer/target/encoder/layers_0/mlp/wo/kernel". Leaves that are not arrays are left out; *others becomes the set
 * of their names (char *), unless `others` is NULL. T5X stores large arrays in folders beside the file; in the file
 * such a leaf is a text. */
TensorFile *flax_open(const char *path, GHashTable **others, GError **error);
