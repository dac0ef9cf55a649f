/* roles.h: the roles of special tokens (padding, mask, …), the pieces that have a role by convention, such as [PAD],
 * and the special tokens of each family of models. */
#pragma once

#include "base/error.h"

#include <jansson.h>

#define TOKENIZER_SENTINELS                                                                                            \
    100 /* number of sentinels that are added to a tokenizer without sentinels: T5's <extra_id_0> to <extra_id_99> */
#define TOKENIZER_MAX_SENTINELS 4096 /* largest number of sentinels of a tokenizer; AST-T5 has 1,024 */

typedef enum TokenRole { ROLE_PAD, ROLE_UNK, ROLE_EOS, ROLE_BOS, ROLE_CLS, ROLE_SEP, ROLE_MASK, TOKEN_ROLES } TokenRole;

/* How a kind of tokenizer spells special tokens: <pad> or [PAD]. */
typedef enum TokenSpelling { SPELLING_BYTE_BPE, SPELLING_WORDPIECE, SPELLING_SENTENCEPIECE, N_SPELLINGS } TokenSpelling;

/* A family of models (bert, roberta, t5, gpt) and the special tokens that its tokenizer is trained with. */
typedef struct TokenFamily {
    const char *name;
    const char *special_tokens[N_SPELLINGS][6]; /* for each spelling: "PIECE" or "ROLE=PIECE", in the order of ids,
                                                       NULL-terminated */
    bool sentinels;                             /* <extra_id_0> to <extra_id_99> follow the last piece, as in T5 */
} TokenFamily;

/* The family of this name; NULL, with an error that lists the families, if there is none. */
const TokenFamily *token_family_find(const char *name, GError **error);

/* The role's key in tokenizer_config.json and special_tokens_map.json: "pad_token". */
const char *token_role_key(TokenRole role);
/* The pieces that have this role by convention, NULL-terminated. If no file of a tokenizer names a piece for cls, sep
 * or mask, the first of these in the vocabulary has the role; so for pad, unk, bos and eos in byte-level BPE. */
const char *const *token_role_pieces(TokenRole role);
/* Reads a special token written as "ROLE=PIECE" or "PIECE": returns the role, or TOKEN_ROLES for "PIECE", and makes
 * *piece point to the piece within `entry`. */
TokenRole token_role_parse(const char *entry, const char **piece);
/* As token_role_parse, but "PIECE" has the role that it has by convention; TOKEN_ROLES if it has none. */
TokenRole token_role_of(const char *entry, const char **piece);
/* A JSON object {"pad_token": "<pad>", …} of those entries that are written as "ROLE=PIECE"; free with json_decref.
 * entries: NULL-terminated; NULL means none. */
json_t *token_roles_given(const char *const *entries);
/* Checks a list of special tokens. It is a user's error if two entries have the same role, or if one is given a role
 * that another has by convention. */
bool token_roles_check(const char *const *entries, GError **error);
