/* compat.h: the header of data/compat for files outside it: reproduces the samples of other programs (Megatron,
 * fairseq, t5-experiments) and their order (option data.compat). An index, computed as the other program computes it,
 * says which tokens sample i of an epoch takes. With data.compat every packed sequence holds one sample. */
#pragma once

#include "base/amount.h"
#include "data/objectives/objectives.h"

typedef enum Compat { COMPAT_NONE, COMPAT_MEGATRON, COMPAT_FAIRSEQ, COMPAT_T5_EXPERIMENTS } Compat;
/* The values of data.compat: "none", "megatron", …, NULL. */
extern const char *const compat_names[];

/* fairseq's --sample-break-mode: where text is split into samples. */
typedef enum BreakMode { BREAK_NONE, BREAK_COMPLETE, BREAK_COMPLETE_DOC, BREAK_EOS } BreakMode;
extern const char *const break_mode_names[];

/* Arguments of CompatKind.open. The dataset, the objective and the config must outlive the index. */
typedef struct CompatSpec {
    const Dataset *data;
    const Objective *objective;
    const ObjectiveConfig *config; /* after Objective.plan */
    uint32_t seed;
    int64_t n_samples; /* Megatron and t5-experiments: samples that the index is for; 0 means one pass over the text */
    BreakMode break_mode; /* fairseq */
    Amount batch;         /* fairseq: batch size in samples or tokens */
    bool held_out;        /* true for evaluation data, false for training data */
} CompatSpec;

/* The functions that reproduce one other program for one objective. */
typedef struct CompatKind {
    Compat compat;
    const char *objective; /* name of the objective */
    /* Makes the index, which `close` frees. *n_samples becomes the samples of an epoch; 0 means a too short text. */
    void *(*open)(const CompatSpec *spec, int64_t *n_samples, GError **error);
    void (*close)(void *index);
    /* Sets *out to sample number `sample` of an epoch, 0 <= sample < n_samples. Not thread-safe. */
    bool (*fill)(void *index, int64_t epoch, int64_t sample, Example *out, GError **error);
} CompatKind;

/* The functions for a program and an objective. If that program is not supported for the objective, NULL with an error
 * that names the supported objectives. */
const CompatKind *compat_find(Compat compat, const char *objective, GError **error);

/* ---- fairseq_blocks.c: the samples of fairseq's language_modeling task. The items of a dataset (lines, each with its
 * </s>) are split into blocks of tokens, one block per sample: the targets of a sample are its block, and the inputs
 * are the targets shifted by one token. Blocks of about equal length form a batch. The batches are formed once, by
 * numpy's RandomState(seed + 1); epoch e = 1, 2, … visits them in an order drawn from RandomState(seed + e) ---- */

typedef struct FairseqBlock {
    uint32_t item;  /* number of the item in which the block starts */
    int32_t offset; /* the block's first token, counted within the item */
    int32_t length; /* number of tokens in the block */
} FairseqBlock;

/* Splits items into blocks. Returns *n_blocks blocks; free with g_free. sizes: (n_items) number of tokens of each item.
 * BREAK_NONE: blocks of block_size tokens; BREAK_COMPLETE: as many whole items as fit in block_size tokens;
 * BREAK_COMPLETE_DOC: the same, but only items of one document (an item of one token, </s>, ends a document and belongs
 * to no block); BREAK_EOS: one item. An item longer than block_size, which fairseq refuses, is split. */
FairseqBlock *fairseq_blocks(const int32_t *sizes, int64_t n_items, BreakMode mode, int64_t block_size,
                             int64_t *n_blocks);

typedef struct FairseqBatches {
    int64_t n_blocks, n_batches;
    uint32_t *blocks; /* (n_blocks) sorted by length, blocks of one length in random order */
    uint32_t *starts; /* (n_batches + 1) batch b is blocks[starts[b]] … blocks[starts[b + 1] - 1] */
} FairseqBatches;

/* Forms the batches. size: the most samples or tokens in a batch; every block counts as many tokens as the longest
 * block of its batch. A batch has fewer than 8 blocks, or a multiple of 8. */
FairseqBatches *fairseq_batches(const FairseqBlock *blocks, int64_t n_blocks, Amount size, uint32_t seed);
void fairseq_batches_free(FairseqBatches *batches);
/* Sets order (n_batches) to the batch numbers in the order in which epoch number `epoch` (1, 2, …) visits them. */
void fairseq_batches_shuffle(const FairseqBatches *batches, uint32_t seed, int64_t epoch, uint32_t *order);

extern const CompatKind compat_fairseq;

/* ---- megatron_bert.c: the samples of Megatron's BERT dataset, drawn as in t5-experiments. A mapping says which
 * sentences each sample takes; it is drawn with C++'s Mersenne Twister (data/compat/mt19937.h). The halves A and B and
 * the masks of a sample are drawn from numpy's RandomState(seed + sample), so a sample has the same masks in every
 * epoch ---- */

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

/* ---- megatron_gpt.c: the samples of Megatron's GPT dataset. The text is read in as many passes as the samples need.
 * The documents of all passes are shuffled together (those of the last pass possibly apart: separate_last_epoch),
 * concatenated, and split into samples of seq_length + 1 tokens that overlap by one token; then the samples are
 * shuffled. A document is one sequence of the dataset. All random numbers come from numpy's RandomState(seed) ---- */

/* The order of documents and samples. The name of each array in Megatron's source is given in brackets. */
typedef struct MegatronGptIndex {
    int64_t tokens, n_documents, seq_length; /* tokens: of all documents */
    int64_t n_epochs;                        /* passes over the text */
    int64_t n_order;                         /* n_epochs × number of documents */
    int64_t n_samples;
    bool separate_last_epoch; /* documents and samples of the last pass are shuffled separately and come last */
    uint32_t *order;          /* (n_order) indices of documents in the order in which they are concatenated [doc_idx] */
    uint32_t *starts;  /* (n_samples + 1) index in `order` of the document in which each sample starts; entry n_samples
                          is the end of the last sample [sample_idx, column 0] */
    int32_t *offsets;  /* (n_samples + 1) first token of each sample, counted within that document; entry n_samples is
                          the end of the last sample [sample_idx, column 1] */
    uint32_t *shuffle; /* (n_samples) indices of samples in the order of training [shuffle_idx] */
} MegatronGptIndex;

/* Computes the numbers of an order; its arrays stay NULL. tokens: number of tokens of all documents. n_samples: the
 * fewest to make; 0 means those of one pass. Fails if 2^32 documents or samples are needed. */
MegatronGptIndex *megatron_gpt_plan(int64_t tokens, int64_t n_documents, int64_t seq_length, int64_t n_samples,
                                    GError **error);
/* Computes the arrays. sizes: (n_documents) number of tokens of each document. */
void megatron_gpt_order(MegatronGptIndex *index, const int32_t *sizes, uint32_t seed);
void megatron_gpt_index_free(MegatronGptIndex *index);

extern const CompatKind compat_megatron_gpt;
