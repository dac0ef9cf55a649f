/* hf.h: model folders of Hugging Face: config.json, model.safetensors (or shards), spiece.model. transformers 4 and 5
 * read what is exported, and what either wrote is imported. */
#pragma once

#include "model/model.h"
#include "text/tokenizer.h"

/* Writes config.json, generation_config.json, model.safetensors and, with a tokenizer, its files
 * (hf_tokenizer.h). FOLDER must be absent or empty; it appears whole or not at all.
 * The model must be on a device of f32. */
typedef struct HfForm {
    const char *dtype;   /* "F32", "BF16" or "F16" */
    int64_t shard_bytes; /* of tensors in one file; 0: all in one */
} HfForm;
bool hf_export_as(Model *model, const Tokenizer *tok /* may be NULL */, const HfForm *form, const char *folder,
                  GError **error);
/* In f32 and one file. */
bool hf_export(Model *model, const Tokenizer *tok /* may be NULL */, const char *folder, GError **error);
/* Missing, unexpected and misshapen tensors are named. Tied unless the file holds a matrix for the logits that differs
 * from the embedding; what files of some years carry besides is passed over. */
Model *hf_import(Device *dev, const char *folder, bool gradients, GError **error);
/* The shape of the model in FOLDER, without its weights; texts are the caller's until model_config_clear. */
bool hf_shape(const char *folder, ModelConfig *config, GError **error);
