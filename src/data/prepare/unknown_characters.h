/* unknown_characters.h: counts the characters of texts that a tokenizer does not know, which alone become its unknown
 * token. */
#pragma once

#include "text/tokenizer.h"

typedef struct UnknownCharacters UnknownCharacters;
UnknownCharacters *unknown_characters_new(const Tokenizer *tok);
void unknown_characters_free(UnknownCharacters *unknown);
/* Counts the unknown characters of a UTF-8 text. */
void unknown_characters_add(UnknownCharacters *unknown, const char *text, size_t bytes);
/* Writes the five commonest ones to `out`, separated by spaces, the commonest first; a control character as U+000A. */
void unknown_characters_commonest(const UnknownCharacters *unknown, char *out, size_t capacity);
