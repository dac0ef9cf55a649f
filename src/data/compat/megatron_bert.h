/* megatron_bert.h: the samples of Megatron's BERT dataset as t5-experiments draws them (t5-experiments.md §3). A
 * mapping of one order says which sentences a sample takes, drawn from C++'s Mersenne Twisters; what becomes of them is
 * drawn from numpy's RandomState(seed + sample), so a sample has the same masks wherever it comes again. */
#pragma once

#include "data/compat/compat_kind.h"

typedef struct MegatronBertSpan {
    uint32_t first, end; /* sentences */
    uint32_t target;     /* tokens of text at most */
} MegatronBertSpan;

typedef struct MegatronBertSpec {
    int64_t max_target, min_sentences; /* of a sample */
    double short_probability;          /* of a target below max_target */
    uint32_t seed;
    int64_t n_samples; /* as many whole passes over the text as make them; 0: one */
} MegatronBertSpec;

/* (*n_spans), to g_free. documents: (n_documents + 1) the first sentence of each; sizes: tokens of a sentence.
 * Documents with fewer sentences than min_sentences, or several and a long one among them, are left out. An error where
 * text gives no sample, or too many. */
MegatronBertSpan *megatron_bert_mapping(const int64_t *documents, int64_t n_documents, const int32_t *sizes,
                                        const MegatronBertSpec *spec, int64_t *n_spans, GError **error);

/* Sample `sample` of n_sentences sentences, tokens [cu[i], cu[i + 1]) each. */
void megatron_bert_sample(const ObjectiveConfig *config, uint32_t seed, int64_t sample, int64_t target,
                          const int32_t *tokens, const int64_t *cu, int64_t n_sentences, Example *out);

void *megatron_bert_open(const CompatSpec *spec, GError **error);
/* The same samples as torch's DistributedSampler of t5-experiments visits them: epoch e = 0, 1, … in the order of
 * torch.randperm by seed + e; held-out ones as they are mapped. */
void *t5_experiments_bert_open(const CompatSpec *spec, GError **error);
void megatron_bert_close(void *bert);
int64_t megatron_bert_count(const void *bert);
bool megatron_bert_fill(void *bert, int64_t epoch, int64_t place, Example *out, GError **error);
