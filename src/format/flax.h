/* flax.h: the arrays of a Flax checkpoint: one MessagePack tree of maps, whose leaves are numpy arrays (what T5X calls
 * a legacy checkpoint). */
#pragma once

#include "format/safetensors.h"

typedef struct FlaxFile FlaxFile; /* read-only, mapped */
FlaxFile *flax_open(const char *path, GError **error);
void flax_close(FlaxFile *file);
int flax_count(const FlaxFile *file);
/* Names join the keys of the maps with slashes: "optimizer/target/encoder/layers_0/mlp/wo/kernel". */
const SafeTensor *flax_get(const FlaxFile *file, int index);
const SafeTensor *flax_find(const FlaxFile *file, const char *name); /* NULL if absent, or no array */
/* There is such a leaf, but it is no array: T5X keeps large ones in folders beside the file, and a text in their place.
 */
bool flax_is_elsewhere(const FlaxFile *file, const char *name);
