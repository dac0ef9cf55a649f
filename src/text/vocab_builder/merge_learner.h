/* merge_learner.h: which pairs of neighbouring symbols occur most and become symbols of their own: what BPE and
 * WordPiece learn. Words are sequences of symbols, each with a count. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct MergeLearner MergeLearner;

#define MERGE_NOT  (-1) /* the pair stays as it is */
#define MERGE_STOP (-2) /* there are enough */

/* The symbol that a pair becomes, new or known, or one of the two above; `count`: how often it occurs. */
typedef int32_t (*MergeFn)(void *context, int32_t left, int32_t right, int64_t count);

#define MERGE_MAX_SYMBOLS ((size_t)1 << 30) /* places are kept in 32 bits, up to three for each symbol */

/* For at most n_words with n_symbols in all, together below MERGE_MAX_SYMBOLS. */
MergeLearner *merge_learner_open(size_t n_words, size_t n_symbols);
void merge_learner_close(MergeLearner *learner);
void merge_learner_add(MergeLearner *learner, const int32_t *symbols, size_t n, int64_t count);
/* Calls `merge` for pair after pair until it stops or none occurs min_count times: the most frequent first; of equally
 * frequent ones that with the smaller left symbol, then the smaller right one. Neither the order of the words nor the
 * machine matters. Overlapping pairs (a a in a a a) are counted each and merged from the left.
 *
 * Where a pair comes into being again after it was merged (its symbols arise in several ways, ab + c and a + bc), it is
 * merged there at once, as an encoder would. */
void merge_learner_run(MergeLearner *learner, int64_t min_count, MergeFn merge, void *context);
