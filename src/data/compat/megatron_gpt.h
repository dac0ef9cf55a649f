/* megatron_gpt.h: which tokens a sample of Megatron's GPT dataset takes. The text is read as often as the
 * samples need; all documents of all passes get one order; they are cut into samples of seq_length + 1 tokens that
 * overlap by one, across documents and passes; and the samples get an order. A document is one sequence of the dataset.
 * All is drawn from numpy's RandomState(seed). */
#pragma once

#include "data/compat/compat.h"

/* In brackets the names of Megatron's arrays. */
typedef struct MegatronGptIndex {
    int64_t n_epochs; /* passes over the text */
    int64_t n_order;  /* n_epochs * documents */
    int64_t n_samples;
    bool separate_last_epoch; /* documents and samples of the last pass come after all others */
    uint32_t *order;          /* (n_order) documents [doc_idx] */
    uint32_t *starts;  /* (n_samples + 1) index in `order` of the document that a sample starts in [sample_idx] … */
    int32_t *offsets;  /* … and its first token there; the last entry is the end of the last sample */
    uint32_t *shuffle; /* (n_samples) order of the samples [shuffle_idx] */
} MegatronGptIndex;

/* sizes: (n_documents) tokens of each document. n_samples: at least as many samples are made; 0 means those of one
 * pass. Fails where 2^32 documents or samples are needed. */
MegatronGptIndex *megatron_gpt_index(const int32_t *sizes, int64_t n_documents, int64_t seq_length, int64_t n_samples,
                                     uint32_t seed, GError **error);
void megatron_gpt_index_free(MegatronGptIndex *index);

extern const CompatKind compat_megatron_gpt;
