/* added_tokens.h: tokens that are found in text before a tokenizer splits it, as Hugging Face's tokenizers find them.
 */
#pragma once

#include "base/error.h"

#include <stdint.h>

G_BEGIN_DECLS

typedef struct AddedToken {
    const char *content;
    int id;
    bool special;        /* not in corpora: text reads as it only where specials are asked for */
    bool single_word;    /* not beside a letter, digit or underscore */
    bool lstrip, rstrip; /* takes the white space before it, after it */
    bool normalized;     /* looked for in normalized text, by its normal form */
} AddedToken;

typedef struct AddedTokens AddedTokens; /* read-only once open */

/* The model that encodes what lies between: text in, ids out. */
typedef struct AddedPlain {
    const void *model;
    /* `first`: the text begins here. */
    bool (*encode)(const void *model, const char *text, size_t bytes, bool first, GArray *ids, GError **error);
    char *(*normalize)(const void *model, const char *text, size_t bytes); /* g_free; NULL: text stays as it is */
} AddedPlain;

/* Copies `tokens` (AddedToken). Of two with the same content the later counts. */
AddedTokens *added_tokens_open(const GArray *tokens, const AddedPlain *plain);
void added_tokens_close(AddedTokens *added);
/* Appends ids. The leftmost tokens are taken, the longest where several begin; first those that are not normalized,
 * then, in the normal form of what lies between, the others. */
bool added_tokens_encode(const AddedTokens *added, const char *text, size_t bytes, bool specials, GArray *ids,
                         GError **error);

G_END_DECLS
