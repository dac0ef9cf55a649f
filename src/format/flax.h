/* flax.h: the arrays of a Flax checkpoint: one MessagePack tree of maps whose leaves are numpy arrays (T5X calls it a
 * legacy checkpoint). */
#pragma once

#include "format/tensor_file.h"

/* Names join the keys of the maps with slashes: "optimizer/target/encoder/layers_0/mlp/wo/kernel". A leaf that is no
 * array is left out; *others, unless `others` is NULL, is the set of their names (char *). T5X keeps large arrays in
 * folders beside the file and leaves a text in their place. */
TensorFile *flax_open(const char *path, GHashTable **others, GError **error);
