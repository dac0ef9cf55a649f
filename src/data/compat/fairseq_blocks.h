/* fairseq_blocks.h: the samples of fairseq's language_modeling task. The items of a dataset (lines, each with its </s>)
 * are split into blocks; the targets of a sample are a block, and its inputs are the targets shifted by one token.
 * Blocks of about equal length make a batch. Batches are made once, from numpy's RandomState(seed + 1), and epoch e =
 * 1, 2, … visits them in an order drawn from RandomState(seed + e). */
#pragma once

#include "data/compat/compat.h"

typedef struct FairseqBlock {
    uint32_t item;  /* the item that the block starts in */
    int32_t offset; /* the block's first token, counted within the item */
    int32_t length; /* tokens of the block */
} FairseqBlock;

/* Returns the blocks (*n_blocks); g_free. sizes: (n_items) tokens of each item. BREAK_NONE: blocks of block_size
 * tokens; BREAK_COMPLETE: as many whole items as fit in block_size tokens; BREAK_COMPLETE_DOC: the same, but only items
 * of one document (an item of one token, </s>, ends a document and belongs to no block); BREAK_EOS: one item. An item
 * longer than block_size, which fairseq refuses, is split into several blocks. */
FairseqBlock *fairseq_blocks(const int32_t *sizes, int64_t n_items, BreakMode mode, int64_t block_size,
                             int64_t *n_blocks);

typedef struct FairseqBatches {
    int64_t n_blocks, n_batches;
    uint32_t *blocks; /* (n_blocks) sorted by length, blocks of one length in random order */
    uint32_t *starts; /* (n_batches + 1) batch b is blocks[starts[b]] … blocks[starts[b + 1] - 1] */
} FairseqBatches;

/* size: most samples, or most tokens, of a batch; for tokens, every block counts as long as the longest of the batch.
 * The number of blocks in a batch is less than 8 or a multiple of 8. */
FairseqBatches *fairseq_batches(const FairseqBlock *blocks, int64_t n_blocks, Amount size, uint32_t seed);
void fairseq_batches_free(FairseqBatches *batches);
/* Writes the order in which epoch 1, 2, … visits the batches to order (n_batches). */
void fairseq_batches_shuffle(const FairseqBatches *batches, uint32_t seed, int64_t epoch, uint32_t *order);

extern const CompatKind compat_fairseq;
