/* hf.h: model folders of Hugging Face: config.json, model.safetensors (or shards), tokenizer files. transformers 4 and
 * 5 read the folders that loam exports; loam imports those of both. The public header of src/model/hf. */
#pragma once

#include "model/model.h"
#include "text/tokenizer.h"

typedef struct HfForm {
    const char *dtype;   /* of the tensors in the file: "F32", "BF16" or "F16" */
    int64_t shard_bytes; /* most bytes of tensors in one file; 0 means all tensors in one file */
} HfForm;

/* Writes config.json, generation_config.json, model.safetensors (or shards) and, unless tok is NULL, the tokenizer's
 * files. FOLDER must be absent or empty; it appears whole or not at all. */
bool hf_export(Model *model, const Tokenizer *tok, HfForm form, const char *folder, GError **error);

/* Writes the adapters of a model (lora.*) as a folder of PEFT: adapter_config.json, adapter_model.safetensors with the
 * adapters and the trained head of a classifier, and unless tok is NULL the tokenizer's files. base: folder or name of
 * the model that the adapters belong to, for base_model_name_or_path; NULL means that none is written. */
bool hf_export_adapter(Model *model, const Tokenizer *tok, const char *base, const char *folder, GError **error);

/* Whether a folder holds a model of Hugging Face or an adapter of PEFT, which hf_import and hf_shape open together with
 * the model that its base_model_name_or_path names: a folder, as seen from here or from the adapter's folder. */
bool hf_is_folder(const char *folder);
/* The tokenizer of a folder; that of an adapter's base where the adapter has none. NULL: none. g_free. */
char *hf_find_tokenizer(const char *folder);
/* Replaces lora.targets, names of modules as PEFT takes them or "" for its default, by names of model/lora.h. */
bool hf_resolve_targets(ModelConfig *config, GError **error);

/* Opens the model of a folder; gradients: with memory for them. A missing, unexpected or misshapen tensor is an error
 * that names it; buffers of older transformers releases are ignored. Embeddings are tied unless the file holds an
 * lm_head that differs from the embedding, whatever config.json says. */
Model *hf_import(Device *dev, const char *folder, bool gradients, GError **error);
/* The configuration of the model in FOLDER, without its weights. Free with model_config_clear. */
bool hf_shape(const char *folder, ModelConfig *config, GError **error);

/* Writes tokenizer.json, tokenizer_config.json and special_tokens_map.json, with which AutoTokenizer of transformers 4
 * and 5 gives the same ids, and the tokenizer's own files: spiece.model, vocab.txt, or vocab.json and merges.txt. The
 * special tokens, and the tokens added around each text, are those that `model` was trained with; NULL means the
 * tokenizer's own. */
bool hf_write_tokenizer(const char *folder, const Tokenizer *tok, const ModelConfig *model, GError **error);
