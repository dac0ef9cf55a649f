/* attention.h: a block of queries of one head against the keys of their sequence at a time; for the attention_*.c
 * files. Scores exist only as such tiles in f32, in the second-level cache, and are computed again in backward from the
 * saved log-sum-exp. */
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

/* A tile of scores has 256 KiB. It is a Block itself, with its runs alone and their columns. */
enum { TILE_QUERIES = 128, TILE_KEYS = 512 };
static const Tiling attn_tiling = { TILE_QUERIES, TILE_KEYS, 4 };

/* Scratch memory of a thread. */
typedef struct Scratch {
    float *tile, *gradients; /* of scores; gradients: for backward alone */
    float *mask;
    float *block;       /* (TILE_QUERIES, size): sums of a block's rows of o or dq */
    float *dk, *dv;     /* (max_k, size): sums of a head of keys; for backward alone */
    float *row, *other; /* (size) */
    void *panels;       /* of cpu_gemm_tile */
    Run *runs;
} Scratch;

/* What computes the attention of bf16 heads, or NULL: the processor has no products of bf16, or a cache is read, whose
 * keys are not worth packing for one query. */
static inline const Bf16Products *attn_bf16(const Device *dev, const AttnSpec *spec)
{
    const Cpu *cpu = dev->impl;
    return dev->precision.compute == DT_BF16 && !spec->k_first.host ? cpu->bf16 : NULL;
}

/* Scratch memory for heads of `size` channels. */
size_t attn_scratch_bytes(const Device *dev, const AttnSpec *spec, int64_t size, bool backward);
Scratch attn_scratch_at(const Device *dev, char *memory, const AttnSpec *spec, int64_t size, bool backward);

/* The rows from `first` on as a factor of cpu_gemm_tile. */
static inline Panel attn_panel(Tensor t, int64_t first, bool transposed)
{
    return (Panel){ row_address(t, first, 0), t.ld, transposed, (DType)t.dtype };
}

int64_t attn_tile_ld(const Head *head);
/* The tile of a block that begins with its run *run, which becomes the first run of the next tile. */
Block attn_tile(Block b, int *run);
/* scratch->tile (rows, columns) = scale · q kᵀ of a tile. */
void attn_scores(Device *dev, const Scratch *scratch, const Head *head, Block b);
/* The biases of the keys from `key` on for query i. */
const float *attn_bias_from(const Head *head, int64_t i, int64_t key);
/* Scores outside the visible keys of a row become zero. */
void attn_mask_outside(float *row, Range seen, int64_t keys);
/* The factors of dropout for the columns of query i. */
void attn_dropout(float *mask, const Head *head, Block b, int64_t i);
