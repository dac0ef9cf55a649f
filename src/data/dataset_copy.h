/* dataset_copy.h: token datasets made from others: merged, shuffled, split. Tokens stream from file to file; memory
 * does not grow with the data. What is written has the form of the (first) source: Megatron's, or fairseq's for
 * fairseq's. */
#pragma once

#include "data/dataset.h"

#define DATASET_SHARES 3 /* train, valid, test */

typedef struct DatasetCounts {
    int64_t documents, tokens;
} DatasetCounts;

/* All documents of all sources, one source after another. Sources of different tokenizers, token types or ends of
 * documents are refused by name. */
bool dataset_merge(char *const *prefixes, int n_prefixes, const char *out, DatasetCounts *counts, GError **error);
/* Documents in an order that is a function of the seed and their number. */
bool dataset_shuffle(const char *prefix, const char *out, uint64_t seed, DatasetCounts *counts, GError **error);
/* OUT-train, OUT-valid and OUT-test of the documents in their order; a share of 0 writes nothing. */
bool dataset_split(const char *prefix, const char *out, const double shares[DATASET_SHARES],
                   DatasetCounts counts[DATASET_SHARES], GError **error);
extern const char *const dataset_share_names[DATASET_SHARES];
/* Megatron's rule: each boundary follows the one before by its share of n rounded half to even; what the last one
 * overshoots n by is taken from all but the first. */
void dataset_boundaries(const double shares[DATASET_SHARES], int64_t n, int64_t boundaries[DATASET_SHARES + 1]);
