/* megatron_gpt.h: the samples of Megatron's GPT dataset. As many passes over the text are made as the samples need; all
 * documents of all passes are shuffled together, concatenated, and split into samples of seq_length + 1 tokens that
 * overlap by one token; then the samples are shuffled. A document is one sequence of the dataset. All random numbers
 * are from numpy's RandomState(seed). */
#pragma once

#include "data/compat/compat.h"

/* The names of Megatron's arrays are given in brackets. */
typedef struct MegatronGptIndex {
    int64_t n_epochs; /* passes over the text */
    int64_t n_order;  /* n_epochs * documents */
    int64_t n_samples;
    bool separate_last_epoch; /* documents and samples of the last pass are shuffled separately and come after all
                                 others */
    uint32_t *order;          /* (n_order) documents [doc_idx] */
    uint32_t *starts; /* (n_samples + 1) index in `order` of the document that a sample starts in [sample_idx] … */
    int32_t *
        offsets; /* … and its first token, counted within that document; the last entry is the end of the last sample */
    uint32_t *shuffle; /* (n_samples) order of the samples [shuffle_idx] */
} MegatronGptIndex;

/* sizes: (n_documents) tokens of each document. n_samples: the least number of samples; 0 means those of one pass.
 * Fails if 2^32 documents or samples are needed. */
MegatronGptIndex *megatron_gpt_index(const int32_t *sizes, int64_t n_documents, int64_t seq_length, int64_t n_samples,
                                     uint32_t seed, GError **error);
void megatron_gpt_index_free(MegatronGptIndex *index);

extern const CompatKind compat_megatron_gpt;
