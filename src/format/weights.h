/* weights.h: the tensors of a file or folder of weights, in whichever format: safetensors or torch.save's. */
#pragma once

#include "format/tensor_file.h"

/* A file, whose first bytes tell its format; or a folder with model.safetensors, else pytorch_model.bin, else an
 * adapter of PEFT, each whole or as the shards that its .index.json names. */
TensorFile *weights_open(const char *path, GError **error);
