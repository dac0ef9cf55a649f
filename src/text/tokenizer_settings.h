/* tokenizer_settings.h: reads Hugging Face's settings files in the folder of a tokenizer: tokenizer_config.json and, in
 * older folders, special_tokens_map.json and added_tokens.json. */
#pragma once

#include "text/added_tokens.h"
#include "text/roles.h"

#include <jansson.h>

typedef struct TokenizerSettings {
    json_t *root;                   /* tokenizer_config.json; this and the next two are NULL if the file is missing */
    json_t *map;                    /* special_tokens_map.json */
    json_t *old;                    /* added_tokens.json */
    GArray *added;                  /* AddedToken; their strings belong to the JSON objects above */
    const char *roles[TOKEN_ROLES]; /* the piece of each role; NULL if no file names one */
} TokenizerSettings;

/* Reads those of the files that the folder has; if it has none, all fields stay empty. Call tokenizer_settings_clear on
 * failure too. */
bool tokenizer_settings_read(const char *folder, TokenizerSettings *config, GError **error);
void tokenizer_settings_clear(TokenizerSettings *config);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TokenizerSettings, tokenizer_settings_clear)

/* The value of "added_tokens_decoder" in tokenizer_config.json for these added tokens (AddedToken): {"id": {"content":
 * …, …}}. A new reference. */
json_t *tokenizer_settings_decoder(const GArray *added);
