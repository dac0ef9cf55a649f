/* torch_file.h: files of PyTorch's torch.save: pytorch_model.bin of Hugging Face, checkpoints (.pt) of fairseq. A zip
 * since PyTorch 1.6, pickles one after another before. Nothing in the file is executed: classes other than tensors and
 * plain containers stay placeholders. */
#pragma once

#include "format/shards.h"

/* Every tensor that dicts, lists and objects of the file hold, in the order of the file. Names join keys, indices and
 * attributes with slashes: "model/encoder.embed_tokens.weight". Numbers and texts are metadata, under names of the same
 * kind: "args/decoder_layers". Tensors of layouts or types that safetensors lacks are left out. */
TensorFile *torch_open(const char *path, GError **error);
/* Appends to `file` those tensors of `path` for which shard_holds is true. */
bool torch_read(TensorFile *file, const char *path, const Shard *shard, GError **error);
/* Whether the file starts like one of torch.save's. */
bool torch_recognises(const char *path);
