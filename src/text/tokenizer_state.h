/* tokenizer_state.h: the fields of a Tokenizer, for the files that open, use and write it. */
#pragma once

#include "text/kind.h"
#include "text/tokenizer.h"

#define TOKENIZER_TARGET_END                                                                                           \
    "<sen000>" /* AST-T5's token for the start and end of targets; its sentinels are <sen001> and so on */
#define TOKENIZER_JSON   "tokenizer.json"
#define TOKENIZER_CONFIG "tokenizer_config.json"

#define TOKENIZER_MAX_FILE                                                                                             \
    ((size_t)256 << 20) /* most bytes of a tokenizer's file; models of 250,000 pieces have about 5 MB */

struct Tokenizer {
    const TokenizerKind *kind;
    void *model;
    TokenizerFacts facts;
    char *path;
    char hash[17];
    int size;
    GArray *added; /* AddedToken, which own their strings: first n_own of the model, then those of files beside it, then
                      sentinels */
    guint n_own;
    int roles[TOKEN_ROLES]; /* ids; -1 means none */
    TextFrame frame;
    json_t *post_processor; /* the post_processor of the tokenizer.json, from which `frame` was read; NULL means none */
    json_t *settings;       /* the tokenizer_config.json beside the file; NULL means there is none */
    AddedTokens *finder;
    GArray *sentinels;       /* int: ids of sentinel 0, 1, … */
    GHashTable *sentinel_of; /* id -> index of the sentinel + 1 */
};

/* The i-th added token. */
static inline const AddedToken *added_at(const Tokenizer *tok, guint i)
{
    return &g_array_index(tok->added, AddedToken, i);
}

/* The last added token with this id or, if content is not NULL, with this content; NULL if there is none. */
const AddedToken *tokenizer_find_added(const Tokenizer *tok, int id, const char *content);
/* Whether a path names a tokenizer.json. */
bool tokenizer_is_json(const char *path);
/* The bytes of the file at tok->path; free with g_free. */
char *tokenizer_read_file(const Tokenizer *tok, size_t *bytes, GError **error);
/* The second file of a tokenizer that has two (merges.txt beside vocab.json); NULL means that it has only one file.
 * Free with g_free. */
char *tokenizer_second_path(const Tokenizer *tok);
