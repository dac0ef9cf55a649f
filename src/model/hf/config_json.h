/* config_json.h: config.json of Hugging Face, as transformers 4 and 5 write it. */
#pragma once

#include "model/hf/roles.h"

/* Reads FOLDER/config.json into zeroed memory; NULL: not a model that loam has. tie_embeddings is what the file
 * says; the tensors know better (hf.c). */
const HfArchitecture *hf_config_read(const char *folder, ModelConfig *config, GError **error);
/* The text of a config.json that gives both generations this model, its tensors of `dtype` ("BF16"). g_free. */
char *hf_config_text(const HfArchitecture *arch, const ModelConfig *config, const TokenRoles *roles, const char *dtype);
/* The architecture that a model is exported as, and, in *fitted, the model without the heads that it has no class for;
 * texts stay those of `config`. NULL with the reason where none can hold it. */
const HfArchitecture *hf_architecture_of(const ModelConfig *config, ModelConfig *fitted, GError **error);
