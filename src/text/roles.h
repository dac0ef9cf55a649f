/* roles.h: what special tokens are for (padding, mask, …), by which pieces they are known, and which of them the
 * tokenizer of a family of models has. */
#pragma once

#include "text/tokenizer.h"

#include <jansson.h>

G_BEGIN_DECLS

/* How the special tokens of a family are spelled; WordPiece knows its own by BERT's names. */
typedef enum TokenSpelling {
    SPELLING_BYTE_BPE,
    SPELLING_WORDPIECE,
    SPELLING_SENTENCEPIECE,
    TOKEN_SPELLINGS
} TokenSpelling;

/* Special tokens of a tokenizer that is trained for a family of models. An entry is "PIECE" or "ROLE=PIECE". */
typedef struct TokenFamily {
    const char *name;
    const char *special_tokens[TOKEN_SPELLINGS][6]; /* each NULL-terminated, in the order of their ids */
    bool sentinels;                                 /* T5's 100 on top */
} TokenFamily;

/* NULL, with an error that lists the families, if there is none of that name. */
const TokenFamily *token_family_find(const char *name, GError **error);

/* The key of a role in tokenizer_config.json and special_tokens_map.json: "pad_token". */
const char *token_role_key(TokenRole role);
/* Pieces that have the role by their name where no file says otherwise, the first of them that a vocabulary has;
 * NULL-terminated. */
const char *const *token_role_pieces(TokenRole role);
/* Reads "ROLE=PIECE" or "PIECE": *piece points into the entry; TOKEN_ROLES stands for no role. */
TokenRole token_role_parse(const char *entry, const char **piece);
/* The same, with the role that a piece has by its name where none is given. */
TokenRole token_role_of(const char *entry, const char **piece);
/* {"pad_token": "<pad>", …}: the roles that the entries (NULL-terminated) give by "ROLE=". A new reference. */
json_t *token_roles_given(const char *const *entries);
/* A role that is given twice, or that another special token would be known by through its name, is an error. */
bool token_roles_check(const char *const *entries, GError **error);

G_END_DECLS
