/* attention.h: one attention head of one sequence, and the keys that a block of its queries attends to; for the
 * attention kernels of kernels/ and bf16/. i is the index of a query in its sequence, j that of a key. */
#pragma once

#include "device/cpu/cpu.h"
#include "device/cpu/share.h"

/* One head of one sequence: the unit of work of the attention kernels. */
typedef struct Head {
    const AttnSpec *spec;
    const Dropout *drop;
    Tensor q, k, v;          /* (tq,size), (tk,size), (tk,size) */
    const float *bias;       /* bias[j - i] for key j and query i; NULL means no bias */
    int64_t q_first, tq, tk; /* row of the first query; number of queries and of keys */
    int64_t prefix, size;    /* AttnSequence.prefix; channels of the head */
    int32_t index, number;   /* index: index of the head in this operation; number: its index in the whole layer */
} Head;

/* A Head with the part of the tensors of backward that belongs to it. */
typedef struct HeadBwd {
    Head head;
    Tensor dq, o, dout; /* (tq,size) */
    float *dbias; /* dbias[j - i] is the sum, over this sequence, of the gradient of bias[j - i]; NULL means that this
                     gradient is not computed */
    const float *lse; /* (tq) log-sum-exp of the scores */
} HeadBwd;

/* A key range: keys [begin, begin + keys) of a sequence. In a Block's matrix of scores they begin at `column`. */
typedef struct KeyRange {
    int64_t begin, keys, column;
} KeyRange;

/* Queries [first, first + rows) of a head and the keys that they attend to, which lie in the key ranges `runs` (n_runs,
 * in ascending order). The matrix of their scores is (rows, columns): it has one column for each key of the key ranges,
 * and unused columns between key ranges. */
typedef struct Block {
    int64_t first, rows, columns;
    const KeyRange *runs;
    int n_runs;
} Block;

/* How the scores of a head are divided: into blocks of at most `rows` queries, and the columns of a block into tiles of
 * `columns` columns (a multiple of `unit`). A key range does not cross the end of a tile. Its column and its first key,
 * with a layout counted from its key block, are multiples of `unit`. `unit` is a multiple of 4. */
typedef struct Tiling {
    int64_t rows, columns, unit;
} Tiling;

/* A view of rows [first, first + n) of head h in t, whose heads have `size` channels each. */
static inline Tensor head_rows(Tensor t, int64_t first, int64_t n, int64_t h, int64_t size)
{
    return tensor_slice_cols(tensor_slice_rows(t, first, n), h * size, size);
}

/* The column of the bias for key 0 and query 0 of a sequence of tk keys. */
static inline int64_t attn_bias_column(const AttnSpec *spec, int64_t tk)
{
    return spec->k_first.device ? spec->max_k - tk : spec->max_q - 1;
}

/* The Head for head h of sequence s. bias_row: row h of the bias tensor in f32; NULL means no bias. */
Head attn_head(const AttnSpec *spec, const Dropout *drop, int32_t s, int32_t h, Tensor q, Tensor k, Tensor v,
               const float *bias_row);
/* The range of keys that query i may attend to, ignoring a layout. */
Range attn_keys(const Head *head, int64_t i);
/* The largest number of queries in a block. */
int64_t attn_max_rows(const AttnSpec *spec, Tiling tiling);
/* The largest number of key ranges in a block. */
int64_t attn_max_runs(const AttnSpec *spec, Tiling tiling);
/* The Block of the queries from `first` on, at most tiling.rows of them, all in one block of the layout, with those of
 * their keys that lie within `limit`. `runs` is memory for attn_max_runs key ranges. */
Block attn_block(const Head *head, int64_t first, Tiling tiling, Range limit, KeyRange *runs);
/* The part of a key range that query i attends to, counted from the first key of the range. */
Range attn_seen(const Head *head, int64_t i, const KeyRange *run);

/* Bump allocator: returns memory + *used and adds `bytes`, rounded up to a multiple of 64, to *used. If memory is NULL,
 * it only counts, and returns NULL. */
static inline void *attn_take(char *memory, size_t *used, size_t bytes)
{
    void *p = memory ? memory + *used : NULL;
    *used += (bytes + 63) / 64 * 64;
    return p;
}
