/* megatron_bert.h: the samples of Megatron's BERT dataset, drawn as in t5-experiments. A mapping says which sentences a
 * sample takes; it is drawn from C++'s Mersenne Twisters. The halves A and B and the masks of a sample are drawn from
 * numpy's RandomState(seed + sample), so a sample has the same masks in every epoch. */
#pragma once

#include "data/compat/compat.h"

typedef struct MegatronBertSpan {
    uint32_t first, end; /* sentences [first, end) */
    uint32_t target;     /* most tokens of text */
} MegatronBertSpan;

typedef struct MegatronBertSpec {
    int64_t max_target;       /* most tokens of text in a sample */
    int64_t min_sentences;    /* fewest sentences in a sample */
    double short_probability; /* probability of a target below max_target */
    uint32_t seed;
    int64_t n_samples; /* passes over the text are repeated until there are this many samples; 0 means one pass */
} MegatronBertSpec;

/* Returns the mapping: the sentences of each of *n_spans samples, in the order of training; g_free. documents:
 * (n_documents + 1) first sentence of each document; sizes: tokens of each sentence. Documents with fewer than
 * min_sentences sentences are left out, and so are documents of several sentences if a sentence has more than 512
 * tokens. Fails if the text gives no sample, or too many samples. */
MegatronBertSpan *megatron_bert_mapping(const int64_t *documents, int64_t n_documents, const int32_t *sizes,
                                        const MegatronBertSpec *spec, int64_t *n_spans, GError **error);

/* Makes sample number `sample` of n_sentences sentences; sentence i is tokens [cu[i], cu[i + 1]). */
void megatron_bert_sample(const ObjectiveConfig *config, uint32_t seed, int64_t sample, int64_t target,
                          const int32_t *tokens, const int64_t *cu, int64_t n_sentences, Example *out);

extern const CompatKind compat_megatron_bert;
/* The same samples in the order of torch's DistributedSampler: epoch e = 0, 1, … visits them as torch.randperm with
 * seed + e does; held-out data is visited in the order of the mapping. */
extern const CompatKind compat_t5_experiments_bert;
