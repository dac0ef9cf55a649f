/* added_tokens.h: finds added tokens in a text, as Hugging Face's tokenizers do: before the tokenizer encodes the text
 * between them. Added tokens are those in added_tokens_decoder of a tokenizer_config.json. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/* An added token; the fields have their names in Hugging Face's files. */
typedef struct AddedToken {
    const char *content; /* the text that is searched for */
    int id;
    bool special;        /* searched for only if the caller asks for special tokens, which is never done for corpora */
    bool single_word;    /* does not match next to a letter, digit or underscore */
    bool lstrip, rstrip; /* the match includes the white space before it (lstrip), after it (rstrip) */
    bool normalized;     /* the normalized content is searched for in the normalized text */
    bool blank; /* a sentinel or a mask: text is left out here, and the text beside it is encoded as part of a longer
                   text (TextEdges); not in the files, where false */
} AddedToken;

/* What is beside a text that is encoded or decoded: nothing, a blank, or another added token. Beside a blank the text
 * is encoded as the corpus has it, in which a word is in the place of the blank. With other tokens beside it, it is
 * encoded as a text of its own. */
typedef struct TextEdges {
    bool starts_text;  /* it is the beginning of the user's text: nothing is before it */
    bool after_blank;  /* a blank is before it: no space is put before it, and its own leading space stays */
    bool before_blank; /* a blank follows: one space at its end is left out if pieces begin with their space (kind.h,
                          BlankSpace), since the piece in the blank has it */
    bool normalized;   /* it is part of a text that the tokenizer's normalizer returned, and is not normalized again */
} TextEdges;

/* An empty GArray of AddedToken that owns the contents of its elements. */
GArray *added_tokens_new(void);

typedef struct AddedTokens AddedTokens; /* read-only once open */

/* Finds where in a text its n ids end: sets ends (n) so that token i ends before byte ends[i] (see
 * tokenizer_encode_ends). edges: as for encode. Returns false if the ids are not those of the text. */
typedef bool (*TokenEndsFn)(const void *model, const char *text, size_t bytes, TextEdges edges, const int32_t *ids,
                            int64_t n, uint32_t *ends);

/* The normalizer of a tokenizer: returns UTF-8 text as it is before pre-tokenization; free with g_free. edges: what is
 * beside the text; it becomes what is beside the result, `normalized` if encoding does not normalize the result again.
 * Otherwise normalizing a normalized text must not change it. Unless map is NULL, *map becomes the offset map
 * (text/offset_map.h) of the result, or stays as it is if this tokenizer has none. Returns NULL, with an error, if a
 * regular expression exceeds its limits. */
typedef char *(*NormalizeFn)(const void *model, const char *text, size_t bytes, TextEdges *edges, GArray **map,
                             GError **error);

/* The tokenizer for the text between added tokens. The functions are those of TokenizerKind (kind.h). */
typedef struct BaseTokenizer {
    const void *model;
    bool (*encode)(const void *model, const char *text, size_t bytes, TextEdges edges, GArray *ids, GError **error);
    NormalizeFn normalize; /* NULL means that text is not normalized */
    TokenEndsFn ends;      /* NULL means that this tokenizer cannot find ends */
} BaseTokenizer;

/* Makes the search for `tokens` (AddedToken), which it copies. Of several with the same content the last counts. */
AddedTokens *added_tokens_open(const GArray *tokens, const BaseTokenizer *base);
void added_tokens_close(AddedTokens *added);
/* Appends the ids of a text to `ids` (int32_t). First the text is searched for the tokens that are not `normalized`;
 * then the text between these is normalized and searched for the other tokens; the base tokenizer encodes the remaining
 * text. A search takes the leftmost match; of several that start at the same character, the longest. specials: true
 * means that special tokens are searched for too. Unless `ends` (uint32_t) is NULL, the byte of the text before which
 * each id ends is appended to it. */
bool added_tokens_encode(const AddedTokens *added, const char *text, size_t bytes, bool specials, GArray *ids,
                         GArray *ends, GError **error);
