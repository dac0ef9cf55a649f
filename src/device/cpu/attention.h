/* attention.h: the heads of an attention operation, and the keys that a block of their queries attends to; for the
 * kernels and the products of bf16. i counts the queries of a sequence, j its keys. */
#pragma once

#include "device/cpu/cpu.h"
#include "device/cpu/share.h"

typedef struct Head {
    const AttnSpec *spec;
    const Dropout *drop;
    Tensor q, k, v;    /* (tq,size), (tk,size), (tk,size) */
    const float *bias; /* bias[j - i] for key j and query i; NULL: none */
    int64_t q_first, tq, tk, prefix, size;
    int32_t index, number; /* of the head: here, and in the whole layer */
} Head;

/* A head with its rows in the tensors of backward. */
typedef struct HeadBwd {
    Head head;
    Tensor dq, o, dout; /* (tq,size) */
    float *dbias;       /* sums of this sequence for the gradient of bias[j - i]; NULL: not wanted */
    const float *lse;   /* (tq) */
} HeadBwd;

/* Keys [begin, begin + keys), whose scores are columns from `column` on. */
typedef struct Run {
    int64_t begin, keys, column;
} Run;

/* Queries [first, first + rows) of a head. They attend to no key outside the runs, which ascend. */
typedef struct Block {
    int64_t first, rows, columns;
    const Run *runs;
    int n_runs;
} Block;

/* How a head is cut into blocks of at most `rows` queries. Columns fill tiles of `columns`, a multiple of `unit`: no
 * run crosses the end of a tile. Runs begin at multiples of `unit`, in columns and in the keys of a sequence or, with a
 * layout, of a key block. `unit` is a multiple of 4. */
typedef struct Tiling {
    int64_t rows, columns, unit;
} Tiling;

/* Rows [first, first + n) of head h of t, which has heads of `size` channels. */
static inline Tensor head_rows(Tensor t, int64_t first, int64_t n, int64_t h, int64_t size)
{
    return tensor_slice_cols(tensor_slice_rows(t, first, n), h * size, size);
}

/* Head h of sequence s. bias_row: the head's row of the bias in f32, or NULL. */
Head attn_head(const AttnSpec *spec, const Dropout *drop, int32_t s, int32_t h, Tensor q, Tensor k, Tensor v,
               const float *bias_row);
/* The keys that query i attends to, ignoring a layout. */
Range attn_keys(const Head *head, int64_t i);
/* The most queries of a block. */
int64_t attn_max_rows(const AttnSpec *spec, Tiling tiling);
/* The most runs of a block. */
int64_t attn_max_runs(const AttnSpec *spec, Tiling tiling);
/* The queries from `first` on, up to the end of a block of the layout, with their keys within `limit`. */
Block attn_block(const Head *head, int64_t first, Tiling tiling, Range limit, Run *runs);
/* The keys of a run that query i attends to, counted from the run's first key. */
Range attn_seen(const Head *head, int64_t i, const Run *run);

/* The next `bytes` of memory, of which *used are taken, rounded up to 64. NULL memory only counts them. */
static inline void *attn_take(char *memory, size_t *used, size_t bytes)
{
    void *p = memory ? memory + *used : NULL;
    *used += (bytes + 63) / 64 * 64;
    return p;
}
