/* attn_spec.h: what an attention operation computes: the sequences of queries and keys, and which keys each query may
 * attend to. Tq and Tk are the numbers of queries and keys of a sequence; i counts its queries, j its keys. Where they
 * differ the last query stands beside the last key: query i is at position i + Tk - Tq of the keys. No GLib here. */
#pragma once

#include "device/tensor.h"

/* An array of integers twice, in memory of the host and of the device: operations are checked and counted by the host's
 * copy, kernels read the device's. */
typedef struct BothSides {
    const int32_t *host, *device; /* NULL means that there is no array */
} BothSides;

/* Block-sparse attention. Each sequence is cut into blocks of `size` tokens from its start on. The queries of block r
 * in head h attend to the key blocks keys[first[c]] … keys[first[c + 1] - 1], in ascending order; c = h blocks + r, or
 * c = r where heads is 1, which means that all heads are alike. */
typedef struct BlockLayout {
    int32_t size;          /* tokens of a block, a multiple of 4 */
    int32_t blocks;        /* no sequence is longer than this many blocks */
    int32_t heads;         /* of the whole layer, or 1 */
    BothSides first, keys; /* first (heads blocks + 1) */
} BlockLayout;

/* Embeddings of distances in the scores, shared by all heads (Shaw et al. 2018; Huang et al. 2020):
 * score(i,j) = scale (q·k + q·e), with `keys` scale (q·k + q·e + k·e); e is the row of `table` (2P - 1, D) at
 * P - 1 + (i + Tk - Tq - j), for distances below P. Backward gives dtable = beta dtable + new. */
typedef struct AttnDistance {
    Tensor table, dtable; /* dtable: for backward alone */
    float beta;
    bool keys;
} AttnDistance;

/* Attention over packed sequences: queries of sequence s attend to keys of sequence s. Rows of a tensor that belong to
 * no sequence (a stream filled below its capacity) get zeros, forward and backward. */
typedef struct AttnSpec {
    int32_t n_seq, max_q, max_k; /* sequences; no sequence has more queries or keys */
    BothSides cu_q, cu_k;        /* (n_seq + 1) cumulative lengths: the rows of sequence s are cu[s] to cu[s + 1] */
    /* (n_seq), or absent. Key/value caches, forward alone, max_q 1: the keys of sequence s begin at row k_first[s], not
     * cu_k[s], and the last column of the bias is that of distance 0. */
    BothSides k_first;
    int32_t heads, kv_heads; /* query head h reads key head h / (heads / kv_heads); kv_heads 0 means heads */
    int32_t first_head;      /* where a part of a layer's heads is computed: number of its head 0 in the whole layer, of
                                which      dropout masks and the layout are; 0 in the whole */
    float scale;             /* factor on q·k; 1 in T5 */
    float rescale; /* q·k is computed as (scale / rescale) q·k and multiplied by rescale before the softmax (Megatron's
                      query-key layer scaling); 0 means neither */
    bool causal;   /* query i attends to keys j <= i + Tk - Tq */
    BothSides
        prefix; /* (n_seq) with `causal`, keys at the start of a sequence that every query may attend to; or absent */
    int32_t window;            /* query i attends to keys at distance |j - (i + Tk - Tq)| <= window; 0 means no limit */
    const BlockLayout *layout; /* query i attends to keys in the blocks of row i + Tk - Tq; NULL means all blocks */
    const AttnDistance *distance; /* excludes a bias and a layout; NULL means none */
} AttnSpec;

static inline int32_t attn_kv_heads(const AttnSpec *spec)
{
    return spec->kv_heads ? spec->kv_heads : spec->heads;
}

typedef struct AttnSequence {
    int64_t tq, tk, prefix; /* of one sequence: queries, keys, and prefix (0 means none) */
} AttnSequence;

/* Keys [*begin, *end) that query i of a sequence may attend to, the layout aside: always a contiguous range, whose
 * bounds never fall as i grows. */
void attn_visible(const AttnSpec *spec, AttnSequence of, int64_t i, int64_t *begin, int64_t *end);

/* Index into layout->first for the query at `position` of its sequence's keys; `head` is its number in the whole layer.
 */
static inline int64_t attn_layout_row(const BlockLayout *layout, int32_t head, int64_t position)
{
    return (layout->heads == 1 ? 0 : (int64_t)head * layout->blocks) + position / layout->size;
}
