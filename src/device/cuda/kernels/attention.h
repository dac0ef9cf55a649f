/* attention.h: the common part of the attention kernels: their arguments, the sequence and head that a thread block
 * works on, the keys that a query may attend to. attention_tiles.h has the matrix products of f32 on CUDA cores,
 * attention_mma.h those of bf16 and f16 on tensor cores. */
#pragma once

#include "device/cuda/kernels/each.h"
#include "device/cuda/kernels/mask.h"
#include "device/cuda/kernels/reduce.h"

/* Largest number of channels of a head. */
enum { MOST_CHANNELS = 256 };

/* Arguments of an attention kernel. Host pointers in `spec` are not used; `layout` and `distance` are copies. */
struct Attn {
    AttnSpec spec;
    BlockLayout layout; /* block-sparse layout; blocks 0 means that there is no layout */
    AttnDistance distance;
    View q, k, v, bias, table;
    Mask mask;   /* dropout */
    int64_t dim; /* channels of a head */
    int group;   /* number of query heads that share a key head */
};

/* One sequence and one query head: the pairs of a query and a key that a thread block works on. */
struct Pairs {
    AttnSequence of; /* numbers of queries and keys, prefix_length */
    int64_t q0, k0;  /* rows of the sequence's first query and first key */
    int seq, head;
};

static inline Attn attn_of(Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec, const Dropout *drop)
{
    Attn attn = {};
    attn.spec = *spec;
    if (spec->layout)
        attn.layout = *spec->layout;
    if (spec->distance) {
        attn.distance = *spec->distance;
        attn.table = view(spec->distance->table);
    }
    attn.q = view(q);
    attn.k = view(k);
    attn.v = view(v);
    attn.bias = view(bias);
    attn.mask = mask_of(drop);
    attn.dim = cols_of(q) / spec->heads;
    attn.group = spec->heads / attn_kv_heads(spec);
    CHECK(attn.dim <= MOST_CHANNELS, "heads of %lld channels, at most %d", (long long)attn.dim, MOST_CHANNELS);
    return attn;
}

static __device__ inline Pairs pairs_of(const Attn &attn, int seq, int head)
{
    const AttnSpec &spec = attn.spec;
    Pairs pairs;
    pairs.seq = seq;
    pairs.head = head;
    pairs.q0 = spec.cu_q.device[seq];
    pairs.of.tq = spec.cu_q.device[seq + 1] - pairs.q0;
    pairs.k0 = spec.k_first.device ? spec.k_first.device[seq] : spec.cu_k.device[seq];
    pairs.of.tk = spec.cu_k.device[seq + 1] - spec.cu_k.device[seq];
    pairs.of.prefix = spec.prefix.device ? spec.prefix.device[seq] : 0;
    return pairs;
}

/* First column of the query head in q, o and their gradients, and of its key head in k, v and theirs. */
static __device__ inline int64_t q_channel(const Attn &attn, const Pairs &pairs)
{
    return pairs.head * attn.dim;
}

static __device__ inline int64_t k_channel(const Attn &attn, const Pairs &pairs)
{
    return pairs.head / attn.group * attn.dim;
}

/* Whether the block-sparse layout lets the query at `position` attend to the block of key j. */
static __device__ inline bool in_layout(const Attn &attn, const Pairs &pairs, int64_t position, int64_t j)
{
    const BlockLayout &layout = attn.layout;
    const int32_t *first = layout.first.device + attn_layout_row(&layout, attn.spec.first_head + pairs.head, position);
    for (int32_t k = first[0]; k < first[1]; k++)
        if (layout.keys.device[k] == j / layout.size)
            return true;
    return false;
}

/* Whether the block-sparse layout lets any of the queries [i, i + n_queries) attend to any of the keys [j, j + n_keys);
 * true if there is no layout. All lanes of a warp must call it together; all get the same result. */
static __device__ inline bool tile_in_layout(const Attn &attn, const Pairs &pairs, int64_t i, int n_queries, int64_t j,
                                             int n_keys)
{
    const BlockLayout &layout = attn.layout;
    if (layout.blocks == 0)
        return true;
    bool wanted = false;
    int64_t last = least(i + n_queries, pairs.of.tq) - 1, shift = pairs.of.tk - pairs.of.tq;
    int32_t head = attn.spec.first_head + pairs.head;
    int64_t from = attn_layout_row(&layout, head, i + shift), to = attn_layout_row(&layout, head, last + shift) + 1;
    for (int32_t k = layout.first.device[from] + lane_number(); k < layout.first.device[to]; k += WARP) {
        int64_t key = (int64_t)layout.keys.device[k] * layout.size;
        wanted = wanted || (key < j + n_keys && key + layout.size > j);
    }
    return __ballot_sync(ALL_LANES, wanted) != 0;
}

/* Keys of a query tile, ignoring layout: some query attends to some of [begin, end), all to [full_begin, full_end). */
struct KeySpan {
    int begin, end, full_begin, full_end;
};

static __device__ inline KeySpan keys_of(const Attn &attn, const Pairs &pairs, int64_t i, int n_queries)
{
    int64_t begin, end, full_begin, full_end; /* neither bound decreases with the query */
    attn_visible(&attn.spec, pairs.of, i, &begin, &full_end);
    attn_visible(&attn.spec, pairs.of, least(i + n_queries, pairs.of.tq) - 1, &full_begin, &end);
    return { (int)begin, (int)end, (int)full_begin, (int)full_end };
}

/* Whether any of the queries [i, i + n_queries) attends to any of the keys [j, j + n_keys). All lanes of a warp must
 * call it together; all get the same result. */
static __device__ inline bool tile_wanted(const Attn &attn, const Pairs &pairs, int64_t i, int n_queries, int64_t j,
                                          int n_keys)
{
    int64_t begin, end, unused;
    attn_visible(&attn.spec, pairs.of, i, &begin, &unused);
    attn_visible(&attn.spec, pairs.of, least(i + n_queries, pairs.of.tq) - 1, &unused, &end);
    return j < end && j + n_keys > begin && tile_in_layout(attn, pairs, i, n_queries, j, n_keys);
}

/* Column of the bias for query i and key j of a sequence. */
static __device__ inline int64_t bias_column(const Attn &attn, const Pairs &pairs, int64_t i, int64_t j)
{
    return j - i + (attn.spec.k_first.device ? attn.spec.max_k - pairs.of.tk : attn.spec.max_q - 1);
}

static __device__ inline float bias_of(const Attn &attn, const Pairs &pairs, int64_t i, int64_t j)
{
    return load_one(attn.bias, pairs.head, bias_column(attn, pairs, i, j));
}
