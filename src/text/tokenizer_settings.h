/* tokenizer_settings.h: reads Hugging Face's settings files in the folder of a tokenizer: tokenizer_config.json and, in
 * older folders, special_tokens_map.json and added_tokens.json. */
#pragma once

#include "text/added_tokens.h"
#include "text/roles.h"

#include <jansson.h>

typedef struct TokenizerSettings {
    json_t *root;  /* tokenizer_config.json; root, map and old are NULL if their file is missing */
    json_t *map;   /* special_tokens_map.json */
    json_t *old;   /* added_tokens.json */
    GArray *added; /* AddedToken: added tokens of these files; their strings belong to root, map and old */
    const char *roles[TOKEN_ROLES]; /* the piece that has each role; NULL means that no file names one */
} TokenizerSettings;

/* Reads the settings files of a folder; a missing file is no error. Call tokenizer_settings_clear also after a
 * failure. */
bool tokenizer_settings_read(const char *folder, TokenizerSettings *config, GError **error);
void tokenizer_settings_clear(TokenizerSettings *config);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TokenizerSettings, tokenizer_settings_clear)

/* The value that special_tokens_map.json, or else tokenizer_config.json, has for a role: a piece, or an object with its
 * flags; NULL means none. */
const json_t *tokenizer_settings_flags(const TokenizerSettings *config, TokenRole role);

/* Sets `lstrip` of the mask, a piece of a vocab.json and one of the tokens `added`, to what the files give an object at
 * mask_token; a plain string there has no flags. */
void tokenizer_settings_mask(const TokenizerSettings *config, GArray *added);

/* Builds the value of "added_tokens_decoder" in tokenizer_config.json for these added tokens (AddedToken): {"id":
 * {"content": …, …}}. Returns a new reference. */
json_t *tokenizer_settings_decoder(const GArray *added);
