/* tokenizer_state.h: the fields of a Tokenizer, for the files of src/text that open, use and write it. */
#pragma once

#include "text/kind.h"
#include "text/tokenizer.h"

#define TOKENIZER_TARGET_END                                                                                           \
    "<sen000>" /* AST-T5's token that starts and ends targets; AST-T5's sentinels are <sen001>, <sen002>, … */
#define TOKENIZER_JSON   "tokenizer.json"
#define TOKENIZER_CONFIG "tokenizer_config.json"
#define TOKENIZER_HASH   "corpus_hash" /* key of tokenizer_config.json: {"file", "hash"} (tokenizer_record_hash) */
#define TOKENIZER_BLANKS "blanks"      /* key of tokenizer_config.json: the value of tokenizer_set_blanks */

struct Tokenizer {
    const TokenizerKind *kind;
    void *model;
    TokenizerFacts facts;
    char *path;
    char hash[17];
    int size;       /* number of ids */
    int n_appended; /* see tokenizer_appended */
    GArray *added;  /* AddedToken and their strings: n_own of the model, those of files beside it, then sentinels */
    guint n_own;
    TokenizerClass class_;  /* the class of transformers that the folder names */
    int roles[TOKEN_ROLES]; /* id of the token with each role; -1 means none */
    TextFrame frame;
    bool separates_blanks;   /* see tokenizer_set_blanks */
    json_t *post_processor;  /* that of the tokenizer.json, from which `frame` was read; NULL means none */
    json_t *settings;        /* content of the tokenizer_config.json beside the file; NULL means that there is none */
    AddedTokens *finder;     /* searches texts for `added` */
    GArray *sentinels;       /* int: the ids of sentinels 0, 1, … */
    GHashTable *sentinel_of; /* id of a sentinel -> its index + 1 */
};

/* Added token number i. */
static inline const AddedToken *added_at(const Tokenizer *tok, guint i)
{
    return &g_array_index(tok->added, AddedToken, i);
}

/* The last added token that has this id or, if content is not NULL, this content; NULL if there is none. */
const AddedToken *tokenizer_find_added(const Tokenizer *tok, int id, const char *content);
/* Refuses a token of the settings files to which a tokenizer.json gives another id, or whose id it gives another. */
bool tokenizer_ids_agree(const Tokenizer *tok, const GArray *tokens, GError **error);
/* Whether this token is a sentinel or the mask. */
bool tokenizer_is_blank(const Tokenizer *tok, int id);
/* Whether a path names a tokenizer.json. */
bool tokenizer_is_json(const char *path);
/* The content of the file tok->path; *bytes becomes its length; free with g_free. */
char *tokenizer_read_file(const Tokenizer *tok, size_t *bytes, GError **error);
/* The path of a tokenizer's second file (merges.txt beside vocab.json); NULL if it has one file. Free with g_free. */
char *tokenizer_second_path(const Tokenizer *tok);
