/* unknown_characters.h: counts, for each of several datasets, the characters of texts that a tokenizer does not know,
 * which alone become its unknown token. */
#pragma once

#include "text/tokenizer.h"

typedef struct UnknownCharacters UnknownCharacters;
UnknownCharacters *unknown_characters_new(const Tokenizer *tok, int n_sets);
void unknown_characters_free(UnknownCharacters *unknown);
/* Counts the unknown characters of a UTF-8 text of dataset `set`. */
void unknown_characters_add(UnknownCharacters *unknown, int set, const char *text, size_t bytes);
/* Writes the five commonest ones of a dataset to `out`, separated by spaces, the commonest first; a control character
 * as U+000A. */
void unknown_characters_commonest(const UnknownCharacters *unknown, int set, char *out, size_t capacity);
