/* tokenizer_state.h: the inside of a tokenizer, for tokenizer.c (opening, encoding, copying) and tokenizer_write.c (as
 * tokenizer.json). */
#pragma once

#include "text/kind.h"
#include "text/roles.h"
#include "text/tokenizer.h"

#define JSON_FILE "tokenizer.json" /* read by every kind with a json_type */

struct Tokenizer {
    const TokenizerKind *kind;
    void *model;
    TokenizerFacts facts;
    char *path;
    char hash[17];
    int size;
    GArray *added; /* AddedToken, contents are its own: first the model's, then those of files beside it */
    guint n_own;   /* the model's */
    int roles[TOKEN_ROLES];
    json_t *settings; /* tokenizer_config.json beside the file; NULL: there is none */
    AddedTokens *finder;
    int sentinels[TOKENIZER_SENTINELS];           /* ids */
    char sentinel_names[TOKENIZER_SENTINELS][16]; /* "<extra_id_0>" */
    GHashTable *sentinel_of;                      /* id -> index + 1 */
};

static inline const AddedToken *added_at(const Tokenizer *tok, guint i)
{
    return &g_array_index(tok->added, AddedToken, i);
}

bool tokenizer_is_json(const char *path);
/* The file that the tokenizer was opened from. g_free. */
char *tokenizer_read_file(const Tokenizer *tok, size_t *bytes, GError **error);
bool tokenizer_write_object(json_t *root, const char *path, GError **error);
