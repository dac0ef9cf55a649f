/* config_json.h: config.json and generation_config.json of Hugging Face, as transformers 4 and 5 write them. */
#pragma once

#include "model/hf/architecture.h"

/* Reads FOLDER/config.json into zeroed memory; NULL with an error where loam has no such model. tie_embeddings is what
 * the file says; import.c decides it by the tensors. */
const HfArchitecture *hf_config_read(const char *folder, ModelConfig *config, GError **error);
/* A config.json from which transformers 4 and 5 build this model; dtype of its tensors: "BF16". json_decref. */
json_t *hf_config_json(const HfArchitecture *arch, const ModelConfig *config, const TokenRoles *roles,
                       const char *dtype);
/* The architecture nearest to a model, which may differ in details. */
const HfArchitecture *hf_architecture_near(const ModelConfig *config);
/* The architecture that a model is exported as. *fitted is its configuration without the heads for which the
 * architecture has no class; its strings are borrowed from `config`. NULL with the reason where no architecture can
 * hold the model. */
const HfArchitecture *hf_architecture_of(const ModelConfig *config, ModelConfig *fitted, GError **error);

/* Reads special tokens and generation settings of a folder into initialized roles; generation_config.json, if it is
 * there, wins over config.json. An id beyond the vocabulary is left out, with a warning. */
bool hf_roles_read(const char *folder, const HfArchitecture *arch, const ModelConfig *config, TokenRoles *roles,
                   GError **error);
/* generation_config.json of a model with a decoder. n_ids: the tokenizer's size; the ids from there on only pad the
 * vocabulary, and get no probability by suppress_tokens. json_decref. */
json_t *hf_roles_generation(const TokenRoles *roles, const ModelConfig *config, int64_t n_ids);
