/* attn_spec.h: describes an attention operation: the sequences of queries and keys, the keys that each query may attend
 * to, and what the distance between key and query adds to a score. Tq and Tk are the numbers of queries and keys of a
 * sequence, i is the index of a query in it and j the index of a key. If Tq and Tk differ, the last query has the
 * position of the last key, so query i has position i + Tk - Tq. No GLib here. */
#pragma once

#include "base/host_device.h"
#include "device/tensor.h"

#include <math.h>

/* An array of integers in two copies: on the host, for checks and FLOP counts, and on the device, for kernels. */
typedef struct BothSides {
    const int32_t *host, *device; /* both pointers are NULL if there is no array */
} BothSides;

/* Block-sparse attention. Each sequence is divided into blocks of `size` tokens. The queries in block r attend, in head
 * h, to the keys in blocks keys[first[c]] … keys[first[c + 1] - 1], which are in ascending order; c = h · blocks + r,
 * or c = r if heads is 1. */
typedef struct BlockLayout {
    int32_t size;          /* number of tokens in a block, a multiple of 4 */
    int32_t blocks;        /* no sequence is longer than this many blocks */
    int32_t heads;         /* number of heads of the whole layer, or 1 if all heads have the same layout */
    BothSides first, keys; /* first: (heads · blocks + 1) indices into `keys`; keys: indices of key blocks */
} BlockLayout;

/* Embeddings of distances in the scores, shared by all heads (Shaw et al. 2018; Huang et al. 2020): score(i,j) = scale
 * (q·k + q·e), or with `keys` set scale (q·k + q·e + k·e); e is row P - 1 + (i + Tk - Tq - j) of `table` (2P - 1, D).
 * Tq and Tk are at most P, so every distance has a row. Backward gives dtable = beta dtable + new. */
typedef struct AttnDistance {
    Tensor table, dtable; /* table: the embeddings; dtable: their gradient, only for backward */
    float beta;
    bool keys; /* add the term k·e */
} AttnDistance;

/* Attention over packed sequences: queries of sequence s attend only to keys of sequence s. Output rows and gradient
 * rows that belong to no sequence (before the first, after the last) become zero. */
typedef struct AttnSpec {
    int32_t n_seq, max_q, max_k; /* number of sequences; largest number of queries and of keys in a sequence */
    BothSides cu_q, cu_k;        /* (n_seq + 1) cumulative lengths: sequence s is rows [cu[s], cu[s + 1]) */
    /* (n_seq), for key/value caches (forward only, max_q 1): the keys of sequence s begin at row k_first[s] of k and v
     * instead of row cu_k[s], and the last column of the bias belongs to distance 0. NULL means no cache. */
    BothSides k_first;
    int32_t heads, kv_heads; /* grouped-query attention: query head h reads key head h / (heads / kv_heads); kv_heads 0
                                means heads */
    int32_t first_head; /* index of head 0 within the whole layer, for dropout masks and `layout`; it is not 0 if only a
                           part of the layer's heads is computed */
    float scale;        /* factor on q·k; 1 in T5 */
    float rescale; /* q·k is computed as (scale / rescale) q·k and multiplied by rescale before the softmax (Megatron's
                      query-key layer scaling); 0 means no rescaling */
    bool causal;   /* query i attends to keys j <= i + Tk - Tq */
    BothSides prefix; /* with `causal`: (n_seq) number of keys at the start of a sequence that every query may attend to
                         (prefix LM); NULL means none */
    int32_t window;   /* query i attends to keys at distance |j - (i + Tk - Tq)| <= window; 0 means no limit */
    const BlockLayout
        *layout; /* block-sparse attention; query i belongs to the block of position i + Tk - Tq; NULL means all keys */
    const AttnDistance *distance; /* NULL means none; may not be combined with a bias or a layout */
} AttnSpec;

/* The number of key/value heads. */
static inline int32_t attn_kv_heads(const AttnSpec *spec)
{
    return spec->kv_heads ? spec->kv_heads : spec->heads;
}

typedef struct AttnSequence {
    int64_t tq, tk, prefix; /* of one sequence: number of queries, number of keys, prefix_length: number of keys at the
                               start that every query may attend to (0 means none) */
} AttnSequence;

/* x, limited to [low, high]. */
HOST_DEVICE static inline int64_t attn_between(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Sets [*begin, *end) to the keys that query i may attend to without spec->layout. No bound decreases when i grows. */
HOST_DEVICE static inline void attn_visible(const AttnSpec *spec, AttnSequence of, int64_t i, int64_t *begin,
                                            int64_t *end)
{
    int64_t own = i + of.tk - of.tq; /* the key at the query's position */
    *begin = 0;
    *end = of.tk;
    if (spec->causal)
        *end = attn_between(own + 1, attn_between(of.prefix, 0, of.tk), of.tk);
    if (spec->window) {
        *end = attn_between(own + spec->window + 1, 0, *end);
        *begin = attn_between(own - spec->window, 0, *end);
    }
}

/* FLOPs of attention with queries q (Nq,H·D), counting only the pairs of a query and a key that it may attend to.
 * dense: FLOPs per pair and channel for the products with keys and values; embeddings of distances add half as many. */
double attn_flops(const AttnSpec *spec, Tensor q, double dense);

/* Index c into layout->first for a query at `position`; head: index of the head within the whole layer. */
HOST_DEVICE static inline int64_t attn_layout_row(const BlockLayout *layout, int32_t head, int64_t position)
{
    return (layout->heads == 1 ? 0 : (int64_t)head * layout->blocks) + position / layout->size;
}

/* T5's relative-position buckets. */
typedef enum RelposRule {
    RELPOS_T5, /* Raffel et al. 2020; the logarithm of a long distance is rounded down to a bucket */
    RELPOS_AST /* AST-T5, COCO-LM: the logarithm is rounded up; keys before and keys after the query have separate
                  buckets even if `bidirectional` is false */
} RelposRule;

typedef struct RelposSpec {
    int32_t first;        /* relative position (key - query) of column 0 of the bias */
    int32_t n_buckets;    /* rows of the embedding table */
    int32_t max_distance; /* all larger distances share the last bucket */
    RelposRule rule;
    bool bidirectional; /* true: keys after the query have separate buckets; false: they share the bucket of distance 0
                         */
} RelposSpec;

/* The bucket of a relative position (key - query). It is exact: rounding errors of the logarithm never change it. */
int32_t relpos_bucket(int32_t relative, const RelposSpec *spec);
/* ALiBi's slope of head `head` of `heads` heads (Press et al. 2022), for any number of heads. If the number of heads is
 * a power of two p, the slopes are 2^(-8/p), 2^(-16/p), …. Otherwise p is the largest power of two below it, and the
 * heads from p on have every second slope of 2p heads. */
HOST_DEVICE static inline double alibi_slope(int32_t head, int32_t heads)
{
    int32_t p = 1;
    while (2 * p <= heads)
        p *= 2;
    return head < p ? exp2(-8.0 / p * (head + 1)) : exp2(-4.0 / p * (2 * (head - p) + 1));
}
