/* attention.h: one attention head of one sequence, and the keys that a block of its queries attends to; for kernels/
 * and bf16/. i counts the queries of a sequence, j its keys. */
#pragma once

#include "device/cpu/cpu.h"
#include "device/cpu/share.h"

typedef struct Head {
    const AttnSpec *spec;
    const Dropout *drop;
    Tensor q, k, v;    /* (tq,size), (tk,size), (tk,size) */
    const float *bias; /* bias[j - i] for key j and query i; NULL means no bias */
    int64_t q_first, tq, tk, prefix, size;
    int32_t index, number; /* of the head: index in this operation; number in the whole layer */
} Head;

/* A head with its rows in the tensors of backward. */
typedef struct HeadBwd {
    Head head;
    Tensor dq, o, dout; /* (tq,size) */
    float *dbias;     /* sums over this sequence for the gradient of bias[j - i]; NULL means that it is not computed */
    const float *lse; /* (tq) */
} HeadBwd;

/* A key range [begin, begin + keys). Its scores are in the columns from `column` on of a block's matrix of scores. */
typedef struct Run {
    int64_t begin, keys, column;
} Run;

/* Queries [first, first + rows) of a head. They attend only to keys in the key ranges `runs` (n_runs), which are in
 * ascending order; `columns` is the number of columns of scores. */
typedef struct Block {
    int64_t first, rows, columns;
    const Run *runs;
    int n_runs;
} Block;

/* How the scores of a head are divided into blocks of at most `rows` queries, and the columns of a block into tiles of
 * `columns` columns, a multiple of `unit`. No key range crosses the end of a tile. Key ranges begin at multiples of
 * `unit`, both in columns and in the keys of the sequence (with a layout: of the key block). `unit` is a multiple of 4.
 */
typedef struct Tiling {
    int64_t rows, columns, unit;
} Tiling;

/* Rows [first, first + n) of head h of t, whose heads have `size` channels. */
static inline Tensor head_rows(Tensor t, int64_t first, int64_t n, int64_t h, int64_t size)
{
    return tensor_slice_cols(tensor_slice_rows(t, first, n), h * size, size);
}

/* The column of the bias for key 0 and query 0 of a sequence of tk keys. */
static inline int64_t attn_bias_column(const AttnSpec *spec, int64_t tk)
{
    return spec->k_first.device ? spec->max_k - tk : spec->max_q - 1;
}

/* Head h of sequence s. bias_row: the head's row of the bias in f32, or NULL. */
Head attn_head(const AttnSpec *spec, const Dropout *drop, int32_t s, int32_t h, Tensor q, Tensor k, Tensor v,
               const float *bias_row);
/* The keys that query i may attend to, ignoring a layout. */
Range attn_keys(const Head *head, int64_t i);
/* The most queries of a block. */
int64_t attn_max_rows(const AttnSpec *spec, Tiling tiling);
/* The most key ranges of a block. */
int64_t attn_max_runs(const AttnSpec *spec, Tiling tiling);
/* The block of queries from `first` on, up to the end of their block of the layout, with those keys that are within
 * `limit`. `runs` is memory for the key ranges (attn_max_runs). */
Block attn_block(const Head *head, int64_t first, Tiling tiling, Range limit, Run *runs);
/* The keys of a key range that query i attends to, counted from the first key of the range. */
Range attn_seen(const Head *head, int64_t i, const Run *run);

/* Bump allocator: returns memory + *used and adds bytes, rounded up to a multiple of 64, to *used. If memory is NULL it
 * only counts and returns NULL. */
static inline void *attn_take(char *memory, size_t *used, size_t bytes)
{
    void *p = memory ? memory + *used : NULL;
    *used += (bytes + 63) / 64 * 64;
    return p;
}
