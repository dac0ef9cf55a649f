/* roles.h: special tokens and generation settings in config.json and generation_config.json. */
#pragma once

#include "model/hf/architecture.h"
#include "model/token_roles.h"

/* Reads both files of a folder into initialized roles. generation_config.json may be missing; ids that it names win
 * over those of config.json. An id beyond the vocabulary is left out, with a warning. */
bool hf_roles_read(const char *folder, const HfArchitecture *arch, const ModelConfig *config, TokenRoles *roles,
                   GError **error);
/* generation_config.json of a model with a decoder. json_decref. */
json_t *hf_roles_generation(const TokenRoles *roles, const ModelConfig *config);
/* The token ids that export writes to config.json, for HfArchitecture.write. */
HfIds hf_roles_ids(const TokenRoles *roles);
/* Where several tokens end an answer, writes eos_token_id as a list. */
void hf_roles_write_eos(json_t *root, const TokenRoles *roles);
