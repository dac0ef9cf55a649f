/* dataset_copy.h: token datasets made from others: merged, shuffled, split. Tokens stream from file to file; memory
 * does not grow with the data. What is written has the form of the (first) source: Megatron's, or fairseq's for
 * fairseq's. */
#pragma once

#include "data/dataset.h"
#include "data/split.h"

typedef struct DatasetCounts {
    int64_t documents, tokens;
} DatasetCounts;

/* All documents of all sources, one source after another. Sources of different tokenizers, token types or ends of
 * documents are refused by name. */
bool dataset_merge(char *const *prefixes, int n_prefixes, const char *out, DatasetCounts *counts, GError **error);
/* Documents in an order that is a function of the seed and their number. */
bool dataset_shuffle(const char *prefix, const char *out, uint64_t seed, DatasetCounts *counts, GError **error);
/* OUT-train, OUT-valid and OUT-test of the documents in their order; a share of 0 writes nothing. */
bool dataset_split(const char *prefix, const char *out, const double shares[SPLIT_PARTS],
                   DatasetCounts counts[SPLIT_PARTS], GError **error);
