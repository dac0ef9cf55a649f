/* words.h: splits a text into words, by which documents are compared. A word is a run of letters, digits, "_" and
 * non-ASCII characters, or a single other character; white space separates words and belongs to none. */
#pragma once

#include <glib.h>
#include <stdint.h>

/* Appends the hash of each word of a text to `words` (uint64_t). */
void words_list(const char *text, size_t bytes, GArray *words);
/* The hash of the n-gram of words [first, first + n). */
uint64_t words_gram(const GArray *words, int64_t first, int64_t n);
