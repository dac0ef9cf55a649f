/* repeats.h: which documents of a corpus nearly repeat one before them, by MinHash (Broder 1997) with bands: the least
 * of each of 256 hashes over all runs of five words (words.h) is the same in two documents with the probability J, the
 * Jaccard index of their sets of runs. A document repeats one before if all 16 hashes of one of 16 bands are the same:
 * with the probability 1 - (1 - J^16)^16, which is 0.05 for J = 0.7, 0.36 for 0.8, 0.96 for 0.9. */
#pragma once

#include "data/prepare/seen_table.h"

#include <stddef.h>

enum { REPEAT_BANDS = 16, REPEAT_ROWS = 16, REPEAT_WORDS = 5 };

/* What is remembered of a document. */
typedef struct RepeatSignature {
    uint64_t bands[REPEAT_BANDS][2]; /* hashes of the bands; undefined where has_runs is false */
    bool has_runs;                   /* at least five words; otherwise the document repeats none */
} RepeatSignature;

/* Thread-safe. */
void repeats_sign(const char *text, size_t bytes, RepeatSignature *out);
/* Adds a document to those before; *repeats tells whether it nearly repeats one of them. */
bool repeats_add(SeenTable *before, const RepeatSignature *document, bool *repeats, GError **error);
