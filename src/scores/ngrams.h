/* ngrams.h: assigns numbers to tokens and n-grams, so that texts are compared as arrays of integers. Within one table
 * equal tokens, and equal n-grams, have equal numbers. */
#pragma once

#include <glib.h>
#include <stddef.h>
#include <stdint.h>

typedef struct NgramTable {
    GHashTable *tokens; /* text of a token -> number */
    GHashTable *pairs;  /* two numbers -> number of their n-gram */
    int32_t n;          /* numbers assigned so far: 0 … n - 1 */
} NgramTable;

/* The tokens of a text. */
typedef struct Tokens {
    int32_t *ids; /* g_free */
    int64_t n;
} Tokens;

NgramTable *ngrams_open(void);
void ngrams_close(NgramTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NgramTable, ngrams_close)
void ngrams_reset(NgramTable *table); /* empties the table */

/* The number of a token; a new token gets the next free number. */
int32_t ngrams_token(NgramTable *table, const char *token, size_t bytes);
/* The words of a text, split at white space as by Python's str.split. */
Tokens ngrams_words(NgramTable *table, const char *text);
/* The characters of a text, white space excluded. */
Tokens ngrams_characters(NgramTable *table, const char *text);

/* Turns the numbers of the n-grams of order - 1 into those of `order`, in place: ngrams[i] begins at token i. Returns
 * their number: n - order + 1, or 0. */
int64_t ngrams_lengthen(NgramTable *table, int32_t *ngrams, const Tokens *tokens, int order);
/* Size of the intersection of two multisets of numbers. */
int64_t ngrams_common(const NgramTable *table, const int32_t *a, int64_t n_a, const int32_t *b, int64_t n_b);
