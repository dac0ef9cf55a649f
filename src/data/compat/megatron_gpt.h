/* megatron_gpt.h: which tokens a sample of Megatron's GPT dataset takes (megatron-fairseq.md §1.9). As many passes over
 * the text as the samples need, their documents in one order; samples of seq_length + 1 tokens that overlap by one,
 * across documents and passes; and an order of the samples. Every sequence of the dataset is a document of Megatron's.
 * Drawn from numpy's RandomState(seed). */
#pragma once

#include "data/compat/compat_kind.h"

typedef struct MegatronGptIndex {
    int64_t n_epochs, n_order, n_samples;
    bool separate_last_epoch; /* its documents and samples come after all others */
    uint32_t *order;          /* doc_idx: (n_order = n_epochs * documents) */
    uint32_t *places;         /* sample_idx: (n_samples + 1) where a sample begins, as a place in order … */
    int32_t *offsets;         /* … and a token of the document there; the last is where the next one would */
    uint32_t *shuffle;        /* shuffle_idx: (n_samples) */
} MegatronGptIndex;

/* sizes: (n_documents) tokens of each; n_samples: wanted at least, 0: of one pass. An error if it takes 2^32 documents
 * or samples. */
MegatronGptIndex *megatron_gpt_index(const int32_t *sizes, int64_t n_documents, int64_t seq_length, int64_t n_samples,
                                     uint32_t seed, GError **error);
void megatron_gpt_index_free(MegatronGptIndex *index);

void *megatron_gpt_open(const CompatSpec *spec, GError **error);
void megatron_gpt_close(void *gpt);
int64_t megatron_gpt_count(const void *gpt);
bool megatron_gpt_fill(void *gpt, int64_t epoch, int64_t sample, Example *out, GError **error);
