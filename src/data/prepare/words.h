/* words.h: splits a text into the words by which documents are compared: a word is a run of letters, digits, "_" and
 * non-ASCII characters, or a single other character; white space is ignored. */
#pragma once

#include <glib.h>
#include <stdint.h>

/* Appends the hash of each word (uint64_t). */
void words_list(const char *text, size_t bytes, GArray *words);
/* The hash of words [first, first + n). */
uint64_t words_gram(const GArray *words, int64_t first, int64_t n);
