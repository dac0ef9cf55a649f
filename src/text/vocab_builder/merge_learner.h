/* vocab_builder/merge_learner.h: learns the merges of BPE and WordPiece (Sennrich et al. 2016): again and again the
 * most frequent pair of neighbouring symbols becomes one symbol. The input is words, each a sequence of symbols with a
 * count. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct MergeLearner MergeLearner;

#define MERGE_NOT  (-1) /* do not merge this pair */
#define MERGE_STOP (-2) /* stop learning */

/* Decides about a pair that occurs `count` times: returns the symbol that it becomes, new or existing, or MERGE_NOT or
 * MERGE_STOP. */
typedef int32_t (*MergeFn)(void *context, int32_t left, int32_t right, int64_t count);

/* Limit of words and symbols: lists of up to three entries per symbol have 32-bit indices. */
#define MERGE_MAX_SYMBOLS ((size_t)1 << 30)

/* A learner for at most n_words words, which have at most n_symbols symbols together; n_words + n_symbols <
 * MERGE_MAX_SYMBOLS. */
MergeLearner *merge_learner_open(size_t n_words, size_t n_symbols);
void merge_learner_close(MergeLearner *learner);
/* Adds a word of n symbols that occurs `count` times. */
void merge_learner_add(MergeLearner *learner, const int32_t *symbols, size_t n, int64_t count);
/* Calls `merge` with the most frequent pair, merges it in all words, and repeats, until `merge` returns MERGE_STOP or
 * no pair occurs min_count times. Of equally frequent pairs the one with the smaller left, then the smaller right
 * symbol comes first, so the result does not depend on the order of the words. Each of the overlapping pairs in "a a a"
 * is counted; they are merged from the left.
 *
 * A merged pair may form again later, since symbols arise in several ways (ab + c and a + bc): it is then merged at
 * once, as an encoder would do. */
void merge_learner_run(MergeLearner *learner, int64_t min_count, MergeFn merge, void *context);
