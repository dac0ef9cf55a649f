/* weights.h: opens the weights of a model, in the format of safetensors or of torch.save, from one file or from several
 * (shards). A folder with shards has an index, such as model.safetensors.index.json, which says which file holds which
 * tensor. */
#pragma once

#include "format/tensor_file.h"

/* Opens a file or a folder. The format of a file is found by its first bytes. In a folder this looks for
 * model.safetensors, then for pytorch_model.bin, then for an adapter of PEFT, each as one file or as the shards that
 * its .index.json names. */
TensorFile *weights_open(const char *path, GError **error);
