/* tokenizer_config.h: what the files beside a tokenizer add to it: tokenizer_config.json, and the added_tokens.json and
 * special_tokens_map.json of older folders of Hugging Face. */
#pragma once

#include "text/added_tokens.h"
#include "text/tokenizer.h"

#include <jansson.h>

typedef struct TokenizerConfig {
    json_t *root, *map;             /* tokenizer_config.json, special_tokens_map.json; NULL: absent */
    json_t *old;                    /* added_tokens.json */
    GArray *added;                  /* AddedToken; contents are the objects' */
    const char *roles[TOKEN_ROLES]; /* pieces; NULL: not said */
} TokenizerConfig;

/* Of the files in the folder, if any. */
bool tokenizer_config_read(const char *folder, TokenizerConfig *config, GError **error);
void tokenizer_config_clear(TokenizerConfig *config);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TokenizerConfig, tokenizer_config_clear)

/* {"id": {"content", …}}, as tokenizer_config.json has them; a new reference. */
json_t *tokenizer_config_decoder(const GArray *added);
