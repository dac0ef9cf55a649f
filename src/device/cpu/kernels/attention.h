/* attention.h: only for the attention_*.c files of this folder. Attention is computed tile by tile: a block of queries
 * of one head with some keys of their sequence. Scores exist only as one tile in f32, in the second-level cache;
 * backward recomputes them from the saved log-sum-exp (as FlashAttention does). */
#pragma once

#include "device/cpu/bf16/bf16.h"
#include "device/cpu/kernels/head.h"

#define attn_tile          ISA_NAME(attn_tile)
#define attn_scratch_bytes ISA_NAME(attn_scratch_bytes)
#define attn_scratch_at    ISA_NAME(attn_scratch_at)
#define attn_tile_ld       ISA_NAME(attn_tile_ld)
#define attn_scores        ISA_NAME(attn_scores)
#define attn_bias_from     ISA_NAME(attn_bias_from)
#define attn_mask_outside  ISA_NAME(attn_mask_outside)
#define attn_dropout       ISA_NAME(attn_dropout)

/* A tile of scores has 256 KiB. A tile is described by a Block that has only the tile's key ranges and columns. */
enum { TILE_QUERIES = 128, TILE_KEYS = 512 };
static const Tiling attn_tiling = { TILE_QUERIES, TILE_KEYS, 4 };

/* Scratch memory of one thread. */
typedef struct Scratch {
    float *tile, *gradients; /* tile: scores; gradients: gradients of scores, only for backward */
    float *mask;
    float *block;       /* (TILE_QUERIES, size): sums of a block's rows of o or dq */
    float *dk, *dv;     /* (max_k, size): sums for one key head, only for backward */
    float *row, *other; /* (size) */
    void *panels;       /* scratch memory of cpu_gemm_tile */
    Run *runs;
} Scratch;

/* The functions for attention of bf16 heads. NULL if the processor has no products of bf16, or for a key/value cache,
 * whose keys are not worth packing for one query. */
static inline const Bf16Products *attn_bf16(const Device *dev, const AttnSpec *spec)
{
    const Cpu *cpu = dev->impl;
    return dev->precision.compute == DT_BF16 && !spec->k_first.host ? cpu->bf16 : NULL;
}

/* The size of a thread's Scratch for heads of `size` channels, and a Scratch in `memory` of that size. */
size_t attn_scratch_bytes(const Device *dev, const AttnSpec *spec, int64_t size, bool backward);
Scratch attn_scratch_at(const Device *dev, char *memory, const AttnSpec *spec, int64_t size, bool backward);

/* The rows of t from `first` on as an operand of cpu_gemm_tile. */
static inline Panel attn_panel(Tensor t, int64_t first, bool transposed)
{
    return (Panel){ row_address(t, first, 0), t.ld, transposed, (DType)t.dtype };
}

/* Distance between rows of Scratch.tile, in numbers: the most columns of a tile for this head. */
int64_t attn_tile_ld(const Head *head);
/* The tile of a block that begins with its key range number *run; *run becomes the number of the first range of the
 * next tile. */
Block attn_tile(Block b, int *run);
/* scratch->tile (rows, columns) = scale · q kᵀ of a tile. */
void attn_scores(Device *dev, const Scratch *scratch, const Head *head, Block b);
/* The biases of query i for the keys from `key` on. */
const float *attn_bias_from(const Head *head, int64_t i, int64_t key);
/* Sets the scores of a row to zero outside the keys `seen`, which its query attends to. */
void attn_mask_outside(float *row, Range seen, int64_t keys);
/* Writes the dropout factors of query i for the columns of b to mask. */
void attn_dropout(float *mask, const Head *head, Block b, int64_t i);
