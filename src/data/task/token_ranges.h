/* token_ranges.h: which characters of a text its tokens stand for, for answers that are spans of the text. */
#pragma once

#include "text/tokenizer.h"

/* The characters of a token are bytes [begin, end) of the text. The characters in [before, begin) and in [end, after)
 * are part of no token: white space, and what the tokenizer drops, such as a zero-width space. A token that stands
 * for no character, such as a space that the tokenizer put there, has begin = end. */
typedef struct TokenRange {
    uint32_t before, begin, end, after;
} TokenRange;

/* Encodes a text: `ids` (GArray of int32_t) becomes its ids, `ranges` (GArray of TokenRange) where each is in the text.
 * An accent that the tokenizer drops counts as a part of the token before it. Both arrays are empty before. */
bool token_ranges_encode(const Tokenizer *tok, const char *text, GArray *ids, GArray *ranges, GError **error);
