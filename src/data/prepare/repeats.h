/* repeats.h: near-deduplication by MinHash (Broder 1997) with bands: finds documents of a corpus that nearly repeat an
 * earlier one. Each of 256 hash functions gives a minimum over all 5-grams of words (words.h); two documents have the
 * same minimum with probability J, the Jaccard index of their sets of 5-grams. A document repeats an earlier one if all
 * 16 minima of one of 16 bands are equal. This has probability 1 - (1 - J^16)^16, which is 0.05 for J = 0.7, 0.36 for
 * 0.8 and 0.96 for 0.9. */
#pragma once

#include "data/prepare/seen_table.h"

#include <stddef.h>

enum { REPEAT_BANDS = 16, REPEAT_ROWS = 16, REPEAT_WORDS = 5 };

/* The MinHash signature of a document. */
typedef struct RepeatSignature {
    uint64_t bands[REPEAT_BANDS][2]; /* hashes of the bands; undefined if has_runs is false */
    bool has_runs;                   /* the document has at least five words; otherwise it repeats no other */
} RepeatSignature;

/* Computes the signature of a text. Thread-safe. */
void repeats_sign(const char *text, size_t bytes, RepeatSignature *out);
/* Adds a document to the earlier ones (`before`); *repeats becomes whether it nearly repeats one of them. */
bool repeats_add(SeenTable *before, const RepeatSignature *document, bool *repeats, GError **error);
