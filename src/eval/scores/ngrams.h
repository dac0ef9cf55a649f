/* ngrams.h: numbers for tokens and their n-grams, so that texts are compared as arrays of integers. Equal tokens, and
 * equal n-grams, of one table have equal numbers. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct NgramTable {
    GHashTable *tokens; /* text to number */
    GHashTable *pairs;  /* two numbers to one */
    int32_t n;          /* numbers given out: 0 … n - 1 */
} NgramTable;

/* The tokens of a text. */
typedef struct Tokens {
    int32_t *ids; /* g_free */
    int64_t n;
} Tokens;

NgramTable *ngrams_open(void);
void ngrams_close(NgramTable *table);
void ngrams_reset(NgramTable *table); /* as if newly opened */

int32_t ngrams_token(NgramTable *table, const char *token, size_t bytes);
/* The words that str.split of Python makes of a text. */
Tokens ngrams_words(NgramTable *table, const char *text);
/* The characters of a text, white space left out. */
Tokens ngrams_characters(NgramTable *table, const char *text);

/* Makes n-grams of `order` in place out of those of order - 1: ngrams[i] begins at token i. Returns how
 * many there are: n - order + 1, or 0. */
int64_t ngrams_lengthen(NgramTable *table, int32_t *ngrams, const Tokens *tokens, int order);
/* Size of the intersection of two bags of numbers, each number as often as it is in both. */
int64_t ngrams_common(const NgramTable *table, const int32_t *a, int64_t n_a, const int32_t *b, int64_t n_b);
