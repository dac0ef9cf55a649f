/* attention.h: attention for operands of any dtype, only for the attention_*.c files of this folder. Attention is
 * computed tile by tile. A tile is a block of queries of one head with some keys of their sequence. Scores exist only
 * for one tile at a time, in f32 in the second-level cache; backward recomputes the probabilities from the saved
 * log-sum-exp, as FlashAttention does. */
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

/* Size of a tile; its scores have 256 KiB. A Block with only its key ranges and columns describes a tile. */
enum { TILE_QUERIES = 128, TILE_KEYS = 512 };
static const Tiling attn_tiling = { TILE_QUERIES, TILE_KEYS, 4 };

/* Scratch memory of one thread. */
typedef struct Scratch {
    float *tile, *gradients; /* tile: the scores of a tile; gradients: the gradients of the scores, only for backward */
    float *mask;             /* dropout factors of one row of the tile */
    float *block;            /* (TILE_QUERIES, size): sums of a block's rows of o or dq */
    float *dk, *dv;          /* (max_k, size): gradients of one key head, only for backward */
    float *row, *other;      /* (size) */
    void *panels;            /* scratch memory of cpu_gemm_tile */
    KeyRange *runs;          /* key ranges of a block */
} Scratch;

/* The functions for attention with matrix products of bf16; NULL means that the kernels of this folder compute
 * attention, because the compute dtype is not bf16, the processor has no products of bf16, or the keys are in a
 * key/value cache, where packing them for one query would not pay. */
static inline const Bf16Products *attn_bf16(const Device *dev, const AttnSpec *spec)
{
    const Cpu *cpu = dev->impl;
    return dev->precision.compute == DT_BF16 && !spec->k_first.host ? cpu->bf16 : NULL;
}

/* Bytes of a thread's Scratch for heads of `size` channels, and a Scratch in `memory` of that many bytes. */
size_t attn_scratch_bytes(const Device *dev, const AttnSpec *spec, int64_t size, bool backward);
Scratch attn_scratch_at(const Device *dev, char *memory, const AttnSpec *spec, int64_t size, bool backward);

/* Rows of t from `first` on as an operand of cpu_gemm_tile. */
static inline Panel attn_panel(Tensor t, int64_t first, bool transposed)
{
    return (Panel){ row_address(t, first, 0), t.ld, transposed, t.dtype };
}

/* Distance between rows of Scratch.tile, in numbers: the largest number of columns of a tile of this head. */
int64_t attn_tile_ld(const Head *head);
/* The tile that begins with key range *run of a block; *run becomes the index of the next tile's first key range. */
Block attn_tile(Block b, int *run);
/* Computes the scores of a tile: scratch->tile (b.rows, b.columns) = scale · q kᵀ. */
void attn_scores(Device *dev, const Scratch *scratch, const Head *head, Block b);
/* Pointer to the biases of query i for the keys key, key + 1, …. */
const float *attn_bias_from(const Head *head, int64_t i, int64_t key);
/* Sets the numbers of a row of `keys` keys to zero outside `seen`, the range of keys that its query attends to. */
void attn_mask_outside(float *row, Range seen, int64_t keys);
/* Writes the dropout factors of query i for each column of tile b to mask. */
void attn_dropout(float *mask, const Head *head, Block b, int64_t i);
