/* roles.h: the roles of special tokens (padding, mask, …), the pieces that have them by convention, and the special
 * tokens of each family of models. */
#pragma once

#include "base/error.h"

#include <jansson.h>

G_BEGIN_DECLS

#define TOKENIZER_SENTINELS                                                                                            \
    100 /* number of sentinels that a tokenizer without them gets: T5's <extra_id_0> to <extra_id_99> */
#define TOKENIZER_MAX_SENTINELS 4096 /* most sentinels of a tokenizer; AST-T5 has 1,024 */

typedef enum TokenRole { ROLE_PAD, ROLE_UNK, ROLE_EOS, ROLE_BOS, ROLE_CLS, ROLE_SEP, ROLE_MASK, TOKEN_ROLES } TokenRole;

/* Kinds of tokenizers differ in how they spell special tokens: <pad> or [PAD]. */
typedef enum TokenSpelling {
    SPELLING_BYTE_BPE,
    SPELLING_WORDPIECE,
    SPELLING_SENTENCEPIECE,
    TOKEN_SPELLINGS
} TokenSpelling;

/* A family of models (bert, roberta, t5, gpt) and the special tokens that its tokenizer is trained with. */
typedef struct TokenFamily {
    const char *name;
    const char *special_tokens[TOKEN_SPELLINGS][6]; /* "PIECE" or "ROLE=PIECE" in order of ids, NULL-terminated */
    bool sentinels;                                 /* whether <extra_id_0..99> follow the last piece, as in T5 */
} TokenFamily;

/* NULL, with an error that lists the families, if none has this name. */
const TokenFamily *token_family_find(const char *name, GError **error);

/* The role's key in tokenizer_config.json and special_tokens_map.json: "pad_token". */
const char *token_role_key(TokenRole role);
/* The pieces that have this role by convention, NULL-terminated. If no file names a piece for the role, the first of
 * these pieces that is in the vocabulary has it. */
const char *const *token_role_pieces(TokenRole role);
/* Reads a special token written as "ROLE=PIECE" or "PIECE": *piece points into `entry`. Returns the role, or
 * TOKEN_ROLES for "PIECE". */
TokenRole token_role_parse(const char *entry, const char **piece);
/* As token_role_parse, except that for "PIECE" it returns the role that this piece has by convention, if any. */
TokenRole token_role_of(const char *entry, const char **piece);
/* {"pad_token": "<pad>", …}: the entries (NULL-terminated, or NULL) written as "ROLE=PIECE"; free with json_decref. */
json_t *token_roles_given(const char *const *entries);
/* A user's error if two entries have the same role, or if an entry is given a role that another entry has by
 * convention. */
bool token_roles_check(const char *const *entries, GError **error);

G_END_DECLS
