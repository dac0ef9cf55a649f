/* config_json.h: config.json of Hugging Face, as transformers 4 and 5 write it. */
#pragma once

#include "model/hf/architecture.h"

/* Reads FOLDER/config.json into zeroed memory; NULL with an error where loam has no such model. tie_embeddings is what
 * the file says; import.c decides it by the tensors. */
const HfArchitecture *hf_config_read(const char *folder, ModelConfig *config, GError **error);
/* The text of a config.json from which transformers 4 and 5 build this model; dtype of its tensors: "BF16". g_free. */
char *hf_config_text(const HfArchitecture *arch, const ModelConfig *config, const TokenRoles *roles, const char *dtype);
/* The architecture that a model is exported as. *fitted is its configuration without the heads for which the
 * architecture has no class; its strings are borrowed from `config`. NULL with the reason where no architecture can
 * hold the model. */
const HfArchitecture *hf_architecture_of(const ModelConfig *config, ModelConfig *fitted, GError **error);
