/* fairseq_blocks.h: which tokens a sample of fairseq's language_modeling task takes (megatron-fairseq.md §5). The items
 * of a dataset (lines, each with its </s>), one after another, are cut into blocks; the targets of a sample are its
 * block, its inputs the same moved by one. Blocks of about equal length make a batch; batches are made once, by numpy's
 * RandomState(seed + 1), and visited in another order in every epoch e = 1, 2, …, by RandomState(seed + e). */
#pragma once

#include "data/compat/compat_kind.h"

typedef struct FairseqBlock {
    uint32_t item; /* where it begins */
    int32_t offset, length;
} FairseqBlock;

/* (*n_blocks), to g_free. sizes: (n_items) tokens of each. none: blocks of block_size; complete: as many whole items as
 * fit; complete_doc: and none from two documents, which lines of one token (</s>) part and which are left out; eos: one
 * item. An item longer than a block, which fairseq refuses, is cut into blocks of its own. */
FairseqBlock *fairseq_blocks(const int32_t *sizes, int64_t n_items, BreakMode mode, int64_t block_size,
                             int64_t *n_blocks);

typedef struct FairseqBatches {
    int64_t n_blocks, n_batches;
    uint32_t *blocks; /* (n_blocks) sorted by length, those of one length at random */
    uint32_t *starts; /* (n_batches + 1) into blocks */
} FairseqBatches;

/* size: samples or tokens of a batch at most; from 8 blocks on, a multiple of 8. Tokens count every block as long as
 * the longest. */
FairseqBatches *fairseq_batches(const FairseqBlock *blocks, int64_t n_blocks, Amount size, uint32_t seed);
void fairseq_batches_free(FairseqBatches *batches);
/* order: (n_batches) the batches as epoch 1, 2, … visits them. */
void fairseq_batches_shuffle(const FairseqBatches *batches, uint32_t seed, int64_t epoch, uint32_t *order);

void *fairseq_open(const CompatSpec *spec, GError **error);
void fairseq_close(void *task);
int64_t fairseq_count(const void *task);
bool fairseq_fill(void *task, int64_t epoch, int64_t sample, Example *out, GError **error);
