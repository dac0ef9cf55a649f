/* megatron_gpt.h: the samples of Megatron's GPT dataset. The text is read in as many passes as the samples need. The
 * documents of all passes are shuffled together (those of the last pass possibly apart: separate_last_epoch),
 * concatenated, and split into samples of seq_length + 1 tokens that overlap by one token; then the samples are
 * shuffled. A document is one sequence of the dataset. All random numbers come from numpy's RandomState(seed). */
#pragma once

#include "data/compat/compat.h"

/* The order of documents and samples. The name of each array in Megatron's source is given in brackets. */
typedef struct MegatronGptIndex {
    int64_t tokens, n_documents, seq_length; /* tokens: of all documents */
    int64_t n_epochs;                        /* passes over the text */
    int64_t n_order;                         /* n_epochs × number of documents */
    int64_t n_samples;
    bool separate_last_epoch; /* documents and samples of the last pass are shuffled separately and come after all
                                 others */
    uint32_t *order;          /* (n_order) indices of documents in the order in which they are concatenated [doc_idx] */
    uint32_t *starts;  /* (n_samples + 1) index in `order` of the document in which each sample starts; entry n_samples
                          is the end of the last sample [sample_idx, column 0] */
    int32_t *offsets;  /* (n_samples + 1) first token of each sample, counted within that document; entry n_samples is
                          the end of the last sample [sample_idx, column 1] */
    uint32_t *shuffle; /* (n_samples) indices of samples in the order of training [shuffle_idx] */
} MegatronGptIndex;

/* Computes the numbers of an order; its arrays stay NULL. tokens: number of tokens of all documents. n_samples:
 * smallest number of samples to make; 0 means the samples of one pass. Fails if 2^32 documents or samples are needed.
 */
MegatronGptIndex *megatron_gpt_plan(int64_t tokens, int64_t n_documents, int64_t seq_length, int64_t n_samples,
                                    GError **error);
/* Computes the arrays. sizes: (n_documents) number of tokens of each document. */
void megatron_gpt_order(MegatronGptIndex *index, const int32_t *sizes, uint32_t seed);
void megatron_gpt_index_free(MegatronGptIndex *index);

extern const CompatKind compat_megatron_gpt;
