/* repeats.h: near-deduplication by MinHash (Broder 1997) with bands: finds documents of a corpus that nearly repeat an
 * earlier one. Each of 256 hash functions gives a minimum over all 5-grams of words; two documents have the
 * same minimum with probability J, the Jaccard index of their sets of 5-grams. The 256 minima are divided into 16 bands
 * of 16. Two documents count as near duplicates if they have all 16 minima of some band in common. This has probability
 * 1 - (1 - J^16)^16, which is 0.05 for J = 0.7, 0.37 for J = 0.8 and 0.96 for J = 0.9. */
#pragma once

#include "base/error.h"

#include <stdint.h>

/* ---- seen_table.c: a set of 128-bit hashes of the texts seen so far. The set lies in a memory-mapped temporary file
 * without a name; the kernel can write its pages to disk, so memory is bounded for any number of documents ---- */

typedef struct SeenTable SeenTable;

/* Makes an empty set. folder: the folder of the temporary file. */
SeenTable *seen_table_open(const char *folder, GError **error);
void seen_table_close(SeenTable *table);
/* Adds the hash (high, low) to the set; *fresh becomes true if the set did not have it. */
bool seen_table_add(SeenTable *table, uint64_t low, uint64_t high, bool *fresh, GError **error);

/* ---- near duplicates ---- */

enum { REPEAT_BANDS = 16, REPEAT_ROWS = 16, REPEAT_WORDS = 5 };

/* The MinHash signature of a document. */
typedef struct RepeatSignature {
    uint64_t bands[REPEAT_BANDS][2]; /* a 128-bit hash of the minima of each band; undefined if has_runs is false */
    bool has_runs; /* the document has at least five words; a shorter document is no near duplicate of any other */
} RepeatSignature;

/* Computes the signature of a text. Thread-safe. */
void repeats_sign(const char *text, size_t bytes, RepeatSignature *out);
/* Sets *repeats to whether a document nearly repeats one of the earlier documents (`before`), then adds it to them. */
bool repeats_add(SeenTable *before, const RepeatSignature *document, bool *repeats, GError **error);

/* ---- words, by which documents are compared: a word is a run of letters, digits, "_" and non-ASCII characters, or a
 * single other character; white space separates words and belongs to none ---- */

/* Appends the hash of each word of a text to `words` (uint64_t). */
void words_list(const char *text, size_t bytes, GArray *words);
/* The hash of the n-gram of words [first, first + n). */
uint64_t words_gram(const GArray *words, int64_t first, int64_t n);
