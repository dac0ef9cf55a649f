/* megatron_bert.h: the samples of Megatron's BERT dataset, drawn as in t5-experiments. A mapping says which sentences
 * each sample takes; it is drawn with C++'s Mersenne Twister (data/compat/mt19937.h). The halves A and B and the masks
 * of a sample are drawn from numpy's RandomState(seed + sample), so a sample has the same masks in every epoch. */
#pragma once

#include "data/compat/compat.h"

typedef struct MegatronBertSpan {
    uint32_t first, end; /* sentences [first, end) */
    uint32_t target;     /* largest number of tokens of text in this sample */
} MegatronBertSpan;

typedef struct MegatronBertSpec {
    int64_t max_target;       /* largest number of tokens of text in any sample */
    int64_t min_sentences;    /* smallest number of sentences in a sample */
    double short_probability; /* probability that a sample gets a random target below max_target */
    uint32_t seed;
    int64_t n_samples; /* the mapping has passes over the text until it has this many samples; 0 means one pass */
} MegatronBertSpec;

/* Returns the mapping: the sentences of each of *n_spans samples, in the order of training; free with g_free.
 * documents: (n_documents + 1) index of the first sentence of each document; sizes: number of tokens of each sentence.
 * Documents with fewer than min_sentences sentences are left out, and so are documents of several sentences if a
 * sentence has more than 512 tokens. Fails if the text gives no sample, or too many samples. */
MegatronBertSpan *megatron_bert_mapping(const int64_t *documents, int64_t n_documents, const int32_t *sizes,
                                        const MegatronBertSpec *spec, int64_t *n_spans, GError **error);

/* Sets *out to sample number `sample`, made of n_sentences sentences: sentence i is tokens [cu[i], cu[i + 1]). target:
 * as in MegatronBertSpan. */
void megatron_bert_sample(const ObjectiveConfig *config, uint32_t seed, int64_t sample, int64_t target,
                          const int32_t *tokens, const int64_t *cu, int64_t n_sentences, Example *out);

extern const CompatKind compat_megatron_bert;
/* The samples of compat_megatron_bert in the order of torch's DistributedSampler: epoch e = 0, 1, … visits training
 * data in the order torch.randperm with seed + e; held-out data is visited in the order of the mapping. */
extern const CompatKind compat_t5_experiments_bert;
