/* roles.h: special tokens and generation settings in config.json and generation_config.json. */
#pragma once

#include "model/hf/architecture.h"
#include "model/token_roles.h"

/* Reads both files of a folder; generation_config.json may be missing, and its ids win where it has them. An id that
 * the vocabulary does not have is left out, with a warning. roles was initialized. */
bool hf_roles_read(const char *folder, const HfArchitecture *arch, const ModelConfig *config, TokenRoles *roles,
                   GError **error);
/* What generation_config.json of a model with a decoder says. */
json_t *hf_roles_generation(const TokenRoles *roles, const ModelConfig *config);
/* Ids for the keys of config.json (HfArchitecture.write), and those that need a list. */
HfIds hf_roles_ids(const TokenRoles *roles);
void hf_roles_write_eos(json_t *root, const TokenRoles *roles);
