/* tokenizer_config.h: reads Hugging Face's settings files in the folder of a tokenizer: tokenizer_config.json and, in
 * older folders, special_tokens_map.json and added_tokens.json. */
#pragma once

#include "text/added_tokens.h"
#include "text/roles.h"

#include <jansson.h>

typedef struct TokenizerConfig {
    json_t *root;  /* tokenizer_config.json; this and the next two are NULL where there is no such file */
    json_t *map;   /* special_tokens_map.json */
    json_t *old;   /* added_tokens.json */
    GArray *added; /* AddedToken; their strings belong to the JSON objects above */
    const char *roles[TOKEN_ROLES]; /* pieces by role; NULL where no file names one */
} TokenizerConfig;

/* Reads the files that the folder has; without any, all is empty. To be cleared on failure too. */
bool tokenizer_config_read(const char *folder, TokenizerConfig *config, GError **error);
void tokenizer_config_clear(TokenizerConfig *config);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TokenizerConfig, tokenizer_config_clear)

/* The value of "added_tokens_decoder" for these tokens: {"id": {"content": …, …}}. A new reference. */
json_t *tokenizer_config_decoder(const GArray *added);
