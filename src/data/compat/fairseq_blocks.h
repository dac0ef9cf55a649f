/* fairseq_blocks.h: the samples of fairseq's language_modeling task. The items of a dataset (lines, each with its </s>)
 * are split into blocks of tokens, one block per sample: the targets of a sample are its block, and the inputs are the
 * targets shifted by one token. Blocks of about equal length form a batch. The batches are formed once, by numpy's
 * RandomState(seed + 1); epoch e = 1, 2, … visits the batches in an order drawn from RandomState(seed + e). */
#pragma once

#include "data/compat/compat.h"

typedef struct FairseqBlock {
    uint32_t item;  /* number of the item in which the block starts */
    int32_t offset; /* the block's first token, counted within the item */
    int32_t length; /* number of tokens in the block */
} FairseqBlock;

/* Splits items into blocks. Returns *n_blocks blocks; free with g_free. sizes: (n_items) number of tokens of each item.
 * BREAK_NONE: blocks of block_size tokens; BREAK_COMPLETE: as many whole items as fit in block_size tokens;
 * BREAK_COMPLETE_DOC: the same, but only items of one document (an item of one token, </s>, ends a document and belongs
 * to no block); BREAK_EOS: one item. An item longer than block_size, which fairseq refuses, is split into several
 * blocks. */
FairseqBlock *fairseq_blocks(const int32_t *sizes, int64_t n_items, BreakMode mode, int64_t block_size,
                             int64_t *n_blocks);

typedef struct FairseqBatches {
    int64_t n_blocks, n_batches;
    uint32_t *blocks; /* (n_blocks) sorted by length, blocks of one length in random order */
    uint32_t *starts; /* (n_batches + 1) batch b is blocks[starts[b]] … blocks[starts[b + 1] - 1] */
} FairseqBatches;

/* Forms the batches. size: the largest number of samples or tokens in a batch; if it counts tokens, every block of a
 * batch counts as many tokens as the longest block of the batch. A batch has fewer than 8 blocks, or a multiple of
 * 8. */
FairseqBatches *fairseq_batches(const FairseqBlock *blocks, int64_t n_blocks, Amount size, uint32_t seed);
void fairseq_batches_free(FairseqBatches *batches);
/* Sets order (n_batches) to the batch numbers in the order in which epoch number `epoch` (1, 2, …) visits them. */
void fairseq_batches_shuffle(const FairseqBatches *batches, uint32_t seed, int64_t epoch, uint32_t *order);

extern const CompatKind compat_fairseq;
