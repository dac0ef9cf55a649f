/* added_tokens.h: finds added tokens (added_tokens_decoder of tokenizer_config.json) in a text, before a tokenizer
 * encodes the text between them, as Hugging Face's tokenizers do. */
#pragma once

#include "base/error.h"

#include <stdint.h>

G_BEGIN_DECLS

typedef struct AddedToken {
    const char *content;
    int id;
    bool special;        /* found only if the caller asks for special tokens, which is never done for corpora */
    bool single_word;    /* not found next to a letter, digit or underscore */
    bool lstrip, rstrip; /* the token includes the white space before it (lstrip), after it (rstrip) */
    bool normalized;     /* searched for in the normalized text, in its own normalized form */
} AddedToken;

/* Returns a GArray of AddedToken that owns their contents. */
GArray *added_tokens_new(void);

typedef struct AddedTokens AddedTokens; /* read-only once open */

/* For n ids that `encode` gave for a text: token i ends before byte ends[i] of the text (see tokenizer_encode_ends).
 * False if the ids are not those of the text. */
typedef bool (*TokenEndsFn)(const void *model, const char *text, size_t bytes, bool starts_text, const int32_t *ids,
                            int64_t n, uint32_t *ends);

/* The tokenizer for the text between added tokens; see TokenizerKind. */
typedef struct BaseTokenizer {
    const void *model;
    bool (*encode)(const void *model, const char *text, size_t bytes, bool starts_text, GArray *ids, GError **error);
    char *(*normalize)(const void *model, const char *text, size_t bytes); /* NULL means that text is not normalized */
    TokenEndsFn ends;                                                      /* NULL means that ends are unknown */
} BaseTokenizer;

/* Copies `tokens` (AddedToken). Of two tokens with the same content the later one counts. */
AddedTokens *added_tokens_open(const GArray *tokens, const BaseTokenizer *base);
void added_tokens_close(AddedTokens *added);
/* Appends the ids of a text. First, tokens that are not `normalized` are searched for in the text as it is; then the
 * text between them is normalized and searched for the others; what is left goes to the base tokenizer. Each search
 * takes the leftmost token; if several start at the same character, the longest. */
bool added_tokens_encode(const AddedTokens *added, const char *text, size_t bytes, bool specials, GArray *ids,
                         GError **error);
/* added_tokens_encode that also appends to `ends` (uint32_t) the byte of the text before which each id ends. */
bool added_tokens_encode_ends(const AddedTokens *added, const char *text, size_t bytes, bool specials, GArray *ids,
                              GArray *ends, GError **error);

G_END_DECLS
