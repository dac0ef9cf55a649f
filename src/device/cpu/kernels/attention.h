/* attention.h: a block of queries of one head against the keys of their sequence at a time; for the attention_*.c
 * files. Scores exist only as such tiles in f32, in the second-level cache, and are computed again in backward from the
 * saved log-sum-exp. */
#pragma once

#include "device/cpu/kernels/head.h"

#define attn_max_rows     ISA_NAME(attn_max_rows)
#define attn_tile         ISA_NAME(attn_tile)
#define attn_desk_bytes   ISA_NAME(attn_desk_bytes)
#define attn_desk_at      ISA_NAME(attn_desk_at)
#define attn_tile_ld      ISA_NAME(attn_tile_ld)
#define attn_block        ISA_NAME(attn_block)
#define attn_scores       ISA_NAME(attn_scores)
#define attn_seen         ISA_NAME(attn_seen)
#define attn_bias_from    ISA_NAME(attn_bias_from)
#define attn_mask_outside ISA_NAME(attn_mask_outside)
#define attn_dropout      ISA_NAME(attn_dropout)

/* Keys [begin, begin + keys), their scores from `column` of a tile on; begin is a multiple of 4. */
typedef struct Run {
    int64_t begin, keys, column;
} Run;

/* Queries [first, first + rows) of a head. They attend to no key outside the runs. Runs of a block fill tiles of
 * TILE_KEYS columns one after another: a run at column 0 begins a tile. A tile is a Block itself, with its runs alone
 * and their columns. */
typedef struct Block {
    int64_t first, rows, columns;
    const Run *runs;
    int n_runs;
} Block;

enum { TILE_QUERIES = 128, TILE_KEYS = 512 }; /* of a tile of scores: 256 KiB */

/* Scratch memory of a thread. */
typedef struct Desk {
    float *tile, *gradients; /* of scores; gradients: for backward alone */
    float *mask;
    float *bias;        /* of a head, where the tensor is not f32 */
    float *block;       /* (TILE_QUERIES, size): sums of a block's rows of o or dq */
    float *dk, *dv;     /* (max_k, size): sums of a head of keys; for backward alone */
    float *row, *other; /* (size) */
    void *panels;       /* of cpu_gemm_tile */
    Run *runs;
} Desk;

/* A desk for heads of `size` channels. */
size_t attn_desk_bytes(const Device *dev, const AttnSpec *spec, int64_t size, bool backward);
Desk attn_desk_at(const Device *dev, char *memory, const AttnSpec *spec, int64_t size, bool backward);

/* The rows from `first` on as a factor of cpu_gemm_tile. */
static inline Panel attn_panel(Tensor t, int64_t first, bool transposed)
{
    return (Panel){ row_address(t, first, 0), t.ld, transposed, (DType)t.dtype };
}

/* The most queries of a block. */
int64_t attn_max_rows(const AttnSpec *spec);
int64_t attn_tile_ld(const Head *head);
/* The queries from `first` on, up to the end of a block of the layout. */
Block attn_block(const Head *head, int64_t first, Run *runs);
/* The tile of a block that begins with its run *run, which becomes the first run of the next tile. */
Block attn_tile(Block b, int *run);
/* desk->tile (rows, columns) = scale · q kᵀ of a tile. */
void attn_scores(Device *dev, const Desk *desk, const Head *head, Block b);
/* The keys of a run that query i may attend to, counted from the run's first key. */
Range attn_seen(const Head *head, int64_t i, const Run *run);
/* The biases of the keys from `key` on for query i. */
const float *attn_bias_from(const Head *head, int64_t i, int64_t key);
/* Scores outside the visible keys of a row become zero. */
void attn_mask_outside(float *row, Range seen, int64_t keys);
/* The factors of dropout for the columns of query i. A run's factors may be followed by up to MASK_STEP more, which the
 * next run overwrites. */
void attn_dropout(float *mask, const Head *head, Block b, int64_t i);
