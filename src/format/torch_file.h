/* torch_file.h: reads files of PyTorch's torch.save: pytorch_model.bin of Hugging Face, checkpoints (.pt) of fairseq.
 * Since PyTorch 1.6 such a file is a zip archive; older ones are several pickles one after another. Nothing in the file
 * is executed: objects other than tensors and plain containers become placeholders (pickle.h). */
#pragma once

#include "format/tensor_file.h"

/* Opens a file and finds every tensor in its dicts, lists and objects, in the order of the file. The name of a tensor
 * is the keys, indices and attributes that lead to it, joined with slashes: "model/encoder.embed_tokens.weight".
 * Numbers and texts become metadata with names made in the same way: "args/decoder_layers". Tensors whose layout or
 * type safetensors does not have are left out. */
TensorFile *torch_open(const char *path, GError **error);
/* The TensorReader of files of torch.save. */
bool torch_read(TensorFile *file, GMappedFile *map, const Shard *shard, GError **error);
/* Whether a file begins like a file of torch.save. */
bool torch_recognises(const char *path);
