/* torch_file.h: reads files of PyTorch's torch.save: pytorch_model.bin of Hugging Face, checkpoints (.pt) of fairseq.
 * They are a zip since PyTorch 1.6; older ones are several pickles one after another. Nothing in the file is executed:
 * classes other than tensors and plain containers stay placeholders. */
#pragma once

#include "format/shards.h"

/* Opens a file and finds every tensor in its dicts, lists and objects, in the order of the file. A tensor's name is the
 * path of keys, indices and attributes, joined with slashes: "model/encoder.embed_tokens.weight". Numbers and texts
 * become metadata with such names: "args/decoder_layers". Tensors whose layout or type safetensors lacks are left out.
 */
TensorFile *torch_open(const char *path, GError **error);
/* Appends to `file` those tensors of `path` for which shard_holds is true. */
bool torch_read(TensorFile *file, const char *path, const Shard *shard, GError **error);
/* Whether the first bytes of the file are those of a file of torch.save. */
bool torch_recognises(const char *path);
