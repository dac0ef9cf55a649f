/* words.h: a text as the words by which documents are compared: runs of letters, digits, "_" and characters beyond
 * ASCII, and single other characters; white space does not count. */
#pragma once

#include <glib.h>
#include <stdint.h>

/* Appends the hash of each word (uint64_t). */
void words_list(const char *text, size_t bytes, GArray *words);
/* The hash of words [first, first + n). */
uint64_t words_gram(const GArray *words, int64_t first, int64_t n);
