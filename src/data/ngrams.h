/* ngrams.h: what counting alone predicts: n-gram models of a token dataset, to compare a trained model with. */
#pragma once

#include "data/dataset/dataset.h"

enum { NGRAMS_MOST = 8 };

/* bits[k - 1] becomes the sum of -log2 p over all tokens of `valid` by the interpolated modified Kneser-Ney k-gram
 * model of `train`, for k = 1 … order, which is at most NGRAMS_MOST. The formula is that of Chen and Goodman 1999
 * ("An Empirical Study of Smoothing Techniques"), section 3, with one set of discounts for each k; below the 1-gram all
 * `vocab` ids have the same probability. Documents are read one after another as one text. tokens: only the first
 * tokens of `train` are counted; 0 means all. Needs some 100 bytes of memory for each. Shows progress on a terminal.
 * Fails for ids outside [0, vocab), and if `train` has 2^32 - 1 tokens or more. */
bool ngrams_bits(const Dataset *train, const Dataset *valid, int order, int32_t vocab, int64_t tokens, double *bits,
                 GError **error);
