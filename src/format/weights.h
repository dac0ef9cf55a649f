/* weights.h: opens weights of a model, in the format of safetensors or of torch.save. */
#pragma once

#include "format/tensor_file.h"

/* path is a file, whose format is found by its first bytes, or a folder, in which this looks for model.safetensors,
 * then pytorch_model.bin, then an adapter of PEFT, each as one file or as the shards that its .index.json names. */
TensorFile *weights_open(const char *path, GError **error);
