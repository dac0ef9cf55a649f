/* attn_spec.h: what an attention operation computes: the sequences of queries and keys, which keys each query may
 * attend to, and what is added to a score by the distance of key and query. Tq and Tk are the numbers of queries and
 * keys of a sequence; i counts its queries, j its keys. Where Tq and Tk differ the last query has the position of the
 * last key: query i is at position i + Tk - Tq. No GLib here. */
#pragma once

#include "base/host_device.h"
#include "device/tensor.h"

#include <math.h>

/* Two copies of an array of integers: the host's, for checks and flops, and the device's, which kernels read. */
typedef struct BothSides {
    const int32_t *host, *device; /* NULL means that there is no array */
} BothSides;

/* Block-sparse attention. Each sequence is cut into blocks of `size` tokens. The queries of block r in head h attend to
 * the key blocks keys[first[c]] … keys[first[c + 1] - 1], in ascending order; c = h blocks + r, or c = r where heads is
 * 1, which means that all heads are alike. */
typedef struct BlockLayout {
    int32_t size;          /* tokens of a block, a multiple of 4 */
    int32_t blocks;        /* no sequence is longer than this many blocks */
    int32_t heads;         /* heads of the whole layer, or 1 */
    BothSides first, keys; /* first: (heads · blocks + 1) indices into keys; keys: numbers of key blocks */
} BlockLayout;

/* Embeddings of distances in the scores, shared by all heads (Shaw et al. 2018; Huang et al. 2020):
 * score(i,j) = scale (q·k + q·e), with `keys` scale (q·k + q·e + k·e); e is row P - 1 + (i + Tk - Tq - j) of `table`
 * (2P - 1, D). Tq and Tk are at most P, so every distance has a row. Backward gives dtable = beta dtable + new. */
typedef struct AttnDistance {
    Tensor table, dtable; /* dtable: for backward alone */
    float beta;
    bool keys;
} AttnDistance;

/* Attention over packed sequences: queries of sequence s attend to keys of sequence s. Rows before the first and after
 * the last sequence get zeros, forward and backward. */
typedef struct AttnSpec {
    int32_t n_seq, max_q, max_k; /* sequences; no sequence has more queries or keys */
    BothSides cu_q, cu_k;        /* (n_seq + 1) cumulative lengths: sequence s is rows [cu[s], cu[s + 1]) */
    /* (n_seq), or absent. For key/value caches (forward only, max_q 1): the keys of sequence s begin at row k_first[s],
     * not cu_k[s], and the last column of the bias belongs to distance 0. */
    BothSides k_first;
    int32_t heads, kv_heads; /* query head h reads key head h / (heads / kv_heads); kv_heads 0 means heads */
    int32_t first_head; /* number of head 0 in the whole layer, which indexes dropout masks and `layout`; above 0 where
                           only a part of the heads is computed */
    float scale;        /* factor on q·k; 1 in T5 */
    float rescale; /* q·k is computed as (scale / rescale) q·k and multiplied by rescale before the softmax (Megatron's
                      query-key layer scaling); 0 means no rescaling */
    bool causal;   /* query i attends to keys j <= i + Tk - Tq */
    BothSides prefix; /* (n_seq) prefix_length, with `causal`: keys at the start of a sequence that every query may
                         attend to; or absent */
    int32_t window;   /* query i attends to keys at distance |j - (i + Tk - Tq)| <= window; 0 means no limit */
    const BlockLayout *layout;    /* keys by the block of position i + Tk - Tq; NULL means all keys */
    const AttnDistance *distance; /* NULL means none; may not be combined with a bias or a layout */
} AttnSpec;

static inline int32_t attn_kv_heads(const AttnSpec *spec)
{
    return spec->kv_heads ? spec->kv_heads : spec->heads;
}

typedef struct AttnSequence {
    int64_t tq, tk, prefix; /* of one sequence: queries, keys, and prefix (0 means none) */
} AttnSequence;

HOST_DEVICE static inline int64_t attn_between(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* Keys [*begin, *end) that query i of a sequence may attend to, ignoring spec->layout: always a contiguous range, whose
 * bounds never fall as i grows. */
HOST_DEVICE static inline void attn_visible(const AttnSpec *spec, AttnSequence of, int64_t i, int64_t *begin,
                                            int64_t *end)
{
    int64_t own = i + of.tk - of.tq; /* the key beside the query */
    *begin = 0;
    *end = of.tk;
    if (spec->causal)
        *end = attn_between(own + 1, attn_between(of.prefix, 0, of.tk), of.tk);
    if (spec->window) {
        *end = attn_between(own + spec->window + 1, 0, *end);
        *begin = attn_between(own - spec->window, 0, *end);
    }
}

/* FLOPs of attention by q (Nq,H·D), counting the pairs of a query and a key that are visible: `dense` a pair and
 * channel for the products with keys and values, and half as many for those with each embedding of distances. */
double attn_flops(const AttnSpec *spec, Tensor q, double dense);

/* Index into layout->first for a query at `position`; `head` is the head's number in the whole layer. */
HOST_DEVICE static inline int64_t attn_layout_row(const BlockLayout *layout, int32_t head, int64_t position)
{
    return (layout->heads == 1 ? 0 : (int64_t)head * layout->blocks) + position / layout->size;
}

/* T5's relative-position buckets. */
typedef enum RelposRule {
    RELPOS_T5, /* Raffel et al. 2020; buckets of long distances are rounded down */
    RELPOS_AST /* AST-T5, COCO-LM: rounded up; keys before and after the query have buckets of their own, also where
                  `bidirectional` is false */
} RelposRule;

typedef struct RelposSpec {
    int32_t first;        /* relative position (key - query) of column 0 of the bias */
    int32_t n_buckets;    /* rows of the embedding table */
    int32_t max_distance; /* all distances from here on share the last bucket */
    RelposRule rule;
    bool bidirectional; /* keys after the query have buckets of their own; false: they share the bucket of distance 0 */
} RelposSpec;

/* Bucket of a relative position (key - query). Rounding of the logarithm never moves a distance to a wrong bucket. */
int32_t relpos_bucket(int32_t relative, const RelposSpec *spec);
/* ALiBi's slope of a head of `heads` (Press et al. 2022); any number of heads. A power of two p of heads has the slopes
 * 2^(-8/p), 2^(-16/p), …; the heads beyond the largest p take every second slope of 2p heads. */
HOST_DEVICE static inline double alibi_slope(int32_t head, int32_t heads)
{
    int32_t p = 1;
    while (2 * p <= heads)
        p *= 2;
    return head < p ? exp2(-8.0 / p * (head + 1)) : exp2(-4.0 / p * (2 * (head - p) + 1));
}
