/* attention_mma.h: computes tiles of attention scores on tensor cores, for bf16 and f16: scores, dropout, the bias of
 * relative positions. fragments.h explains the matrices (16,16) and (16,8) of which a tile consists.
 *
 * A tile has 8 N columns and, for each of the MMA_WARPS warps of a block, 16 M rows. In forward and for the gradient of
 * queries, rows are queries and columns are keys; for the gradients of keys and values, rows are keys and columns are
 * queries. In both cases the probabilities are the left operand of the next matrix product and stay in registers.
 * Scores are multiplied by log2(e), so that probabilities are powers of 2. */
#pragma once

#include "device/cuda/kernels/attention.h"
#include "device/cuda/kernels/multiply.h"

enum { MMA_WARPS = 4, MMA_THREADS = MMA_WARPS * WARP };
#define LOG2_E 1.44269504088896341f
#define LN_2   0.69314718055994531f

/* Whether as many blocks fit a multiprocessor of a GPU that shares little by shared memory as Sizes::BLOCKS lets fit by
 * registers: if fewer fit, ptxas spills registers for nothing. */
template <class Sizes> constexpr bool fits_little(void)
{
    return LITTLE_SHARED / (int)(sizeof(typename Sizes::Shared) + BLOCK_SHARED) == Sizes::BLOCKS;
}

/* Row and column of the tile that the calling lane holds in its element c[m][n][2h + e], for h and e 0 or 1. */
static __device__ inline int row_of(int first_row, int m, int h)
{
    return first_row + 16 * m + 8 * h + lane_row();
}

static __device__ inline int column_of(int n, int e)
{
    return 8 * n + lane_col() + e;
}

/* Unrolled loops: over one index, and over all elements c[m][n][2h + e] of a lane. */
#define EACH(m, M)     UNROLL for (int m = 0; m < (M); m++)
#define EACH_SUM(M, N) EACH(m, M) EACH(n, N) EACH(h, 2) EACH(e, 2)

/* The first key of the next tile of keys, from key j on, that any of the queries [i, i + n_queries) attends to; a
 * result that is not below span.end means that there is none. j is not below the first tile with keys of the span. */
static __device__ inline int next_keys(const Attn &attn, const Pairs &pairs, const KeySpan &span, int64_t i,
                                       int n_queries, int j, int n_keys)
{
    while (j < span.end && !tile_in_layout(attn, pairs, i, n_queries, j, n_keys))
        j += n_keys;
    return j;
}

/* Whether all queries of the span's tile within the sequence attend to all keys of [j, end_of_keys). */
static __device__ inline bool tile_full(const Attn &attn, const KeySpan &span, int64_t j, int64_t end_of_keys)
{
    return attn.layout.blocks == 0 && span.full_begin <= j && span.full_end >= end_of_keys;
}

/* The keys of a tile that one query attends to: key x if begin <= x < end, and bit x / 4 of `groups` is set. */
struct Seen {
    int begin, end;
    uint32_t groups;
};

static __device__ inline bool is_seen(const Seen &seen, int key)
{
    return key >= seen.begin && key < seen.end && (seen.groups >> key / 4 & 1);
}

/* The keys that query i attends to, of the tile of keys [j, j + n_keys). */
static __device__ inline Seen seen_by(const Attn &attn, const Pairs &pairs, int64_t i, int64_t j, int n_keys)
{
    Seen seen = { 0, 0, ~0u };
    if (i >= pairs.of.tq)
        return seen;
    int64_t begin, end;
    attn_visible(&attn.spec, pairs.of, i, &begin, &end);
    seen.begin = (int)attn_between(begin - j, 0, n_keys);
    seen.end = (int)attn_between(end - j, 0, n_keys);
    const BlockLayout &layout = attn.layout;
    if (layout.blocks == 0)
        return seen;
    int64_t row = attn_layout_row(&layout, attn.spec.first_head + pairs.head, i + pairs.of.tk - pairs.of.tq);
    seen.groups = 0;
    for (int32_t k = layout.first.device[row]; k < layout.first.device[row + 1]; k++) {
        int64_t key = (int64_t)layout.keys.device[k] * layout.size - j;
        int from = (int)attn_between(key, 0, n_keys) / 4, to = (int)attn_between(key + layout.size, 0, n_keys) / 4;
        seen.groups |= (uint32_t)(((uint64_t)1 << to) - ((uint64_t)1 << from));
    }
    return seen;
}

/* The biases for a tile of QUERIES × KEYS pairs, times log2(e): of[key - query + QUERIES - 1]. */
template <int QUERIES, int KEYS> struct BiasStrip {
    float of[QUERIES + KEYS];
};

/* Loads a BiasStrip in two steps: `fetch` loads the calling thread's part into registers, while the previous tile is
 * still used; `put` stores it in shared memory. */
template <int QUERIES, int KEYS> struct BiasFetch {
    enum { N = QUERIES + KEYS - 1, SHARE = (N + MMA_THREADS - 1) / MMA_THREADS };
    int first;      /* the thread's first column of the bias, for query 0 and key 0 */
    unsigned count; /* the number of columns; 0 means no bias */
    float held[SHARE];

    __device__ inline void open(const Attn &attn, const Pairs &pairs)
    {
        first = (int)bias_column(attn, pairs, 0, 0) - (QUERIES - 1) + (int)threadIdx.x;
        count = attn.bias.p ? (unsigned)(attn.spec.max_q + attn.spec.max_k - 1) : 0;
        keep_place(first);
    }
    /* For the tile of query i and key j of a head; `distance` is j - i. */
    __device__ inline void fetch(const Attn &attn, int head, int distance)
    {
        EACH(x, SHARE)
        {
            int column = first + distance + x * MMA_THREADS;
            held[x] = (unsigned)column < count ? load_one(attn.bias, head, column) * LOG2_E : 0;
        }
    }
    __device__ inline void put(BiasStrip<QUERIES, KEYS> *strip) const
    {
        EACH(x, SHARE)
        if (x * MMA_THREADS + (int)threadIdx.x < N)
            strip->of[x * MMA_THREADS + (int)threadIdx.x] = held[x];
    }
};

/* Dropout: four Philox words decide on eight keys of a query (base/philox.h). Each lane computes the words for other
 * pairs of query and keys than its neighbours; then the lanes exchange the words. In the result, bit 4n + 2h + e of
 * keep[m] is set if dropout keeps element c[m][n][2h + e]. Here: swaps `low` of the upper lane of two with `high` of
 * the other lane; the lanes' numbers differ by `lanes`. */
static __device__ inline void exchange(uint32_t &low, uint32_t &high, bool upper, int lanes)
{
    uint32_t got = __shfl_xor_sync(ALL_LANES, upper ? low : high, lanes);
    if (upper)
        low = got;
    else
        high = got;
}

/* The Philox words that decide on a query and the block of eight keys that contains `key`. */
static __device__ inline PhiloxWords words_of(const Attn &attn, const Pairs &pairs, int64_t query, int64_t key)
{
    const Mask &mask = attn.mask;
    int64_t row = pairs.q0 + least(query, pairs.of.tq - 1);
    uint64_t sample = (uint64_t)mask.sample[row];
    uint32_t head = (uint32_t)(attn.spec.first_head + pairs.head);
    return philox4x32(mask.key, (uint32_t)sample, (uint32_t)(sample >> 32) | head << 16, (uint32_t)mask.position[row],
                      (uint32_t)(key / PHILOX_ELEMENTS));
}

/* Sets keep for a tile whose rows are queries from i on and whose columns are keys from j on. The four lanes that hold
 * a row have the eight keys of columns [8n, 8n + 8); each of them computes the words for one of four n. */
template <int M, int N>
static __device__ inline void keep_of_queries(uint32_t (&keep)[M], const Attn &attn, const Pairs &pairs, int64_t i,
                                              int first_row, int64_t j)
{
    int t = lane_number() % 4;
    EACH(m, M)
    {
        uint32_t bits = 0;
        ROLLED for (int at = 0; at < (N + 3) / 4 * 2; at++) /* rolled: words of several pairs need many registers */
        {
            int h = at % 2, n = at / 2 * 4;
            PhiloxWords words = words_of(attn, pairs, i + row_of(first_row, m, h), j + 8 * (n + t));
            exchange(words.w[0], words.w[1], t & 1, 1);
            exchange(words.w[2], words.w[3], t & 1, 1);
            exchange(words.w[0], words.w[2], t & 2, 2);
            exchange(words.w[1], words.w[3], t & 2, 2);
            EACH(u, N < 4 ? N : 4) EACH(e, 2)
            {
                bool is_kept = (words.w[u] >> 16 * e & 0xFFFF) >= attn.mask.threshold;
                bits |= (uint32_t)is_kept << (4 * (n + u) + 2 * h + e);
            }
        }
        keep[m] = bits;
    }
}

/* Exchanges 16-bit halves of words between lanes whose rows g and g ^ 1 are neighbours (4 lanes apart). */
static __device__ inline void exchange_halves(uint32_t &first, uint32_t &second, bool upper)
{
    uint32_t sent = upper ? (first & 0xFFFF) | second << 16 : first >> 16 | (second & 0xFFFF0000u);
    uint32_t got = __shfl_xor_sync(ALL_LANES, sent, 4);
    first = upper ? (first & 0xFFFF0000u) | (got & 0xFFFF) : (first & 0xFFFF) | got << 16;
    second = upper ? (second & 0xFFFF0000u) | got >> 16 : (second & 0xFFFF) | (got & 0xFFFF0000u);
}

/* Sets keep for a tile whose rows are keys from j on and whose columns are queries from i on. The eight lanes 4g + t
 * with the same t hold eight keys of a query; each computes the words for one combination of two n, two e and two h. */
template <int M, int N>
static __device__ inline void keep_of_keys(uint32_t (&keep)[M], const Attn &attn, const Pairs &pairs, int64_t i,
                                           int64_t j, int first_row)
{
    int g = lane_row();
    EACH(m, M)
    {
        uint32_t bits = 0;
        ROLLED for (int n = 0; n < N; n += 2)
        {
            int64_t query = i + column_of(n + g / 4, g / 2 % 2), key = j + first_row + 16 * m + 8 * (g % 2);
            PhiloxWords words = words_of(attn, pairs, query, key);
            exchange_halves(words.w[0], words.w[1], g & 1);
            exchange_halves(words.w[2], words.w[3], g & 1);
            exchange(words.w[0], words.w[1], g & 2, 8);
            exchange(words.w[2], words.w[3], g & 2, 8);
            exchange(words.w[0], words.w[2], g & 4, 16);
            exchange(words.w[1], words.w[3], g & 4, 16);
            EACH(u, 2) EACH(h, 2) EACH(e, 2)
            {
                bool is_kept = (words.w[2 * u + e] >> 16 * h & 0xFFFF) >= attn.mask.threshold;
                bits |= (uint32_t)is_kept << (4 * (n + u) + 2 * h + e);
            }
        }
        keep[m] = bits;
    }
}

static __device__ inline bool is_kept(uint32_t keep, int n, int h, int e)
{
    return keep >> (4 * n + 2 * h + e) & 1;
}

/* Turns the products q·k of a tile, whose rows are queries and columns keys, into scores: (scale q·k + bias) log2(e),
 * or -inf if the query does not attend to the key. */
template <class Sizes, int M, int N>
static __device__ inline void finish_scores(float (&s)[M][N][4], const Attn &attn, const Pairs &pairs,
                                            const KeySpan &span, int64_t i, int j, int first_row,
                                            const BiasStrip<Sizes::QUERIES, Sizes::KEYS> &bias, const uint32_t *groups)
{
    float scale = attn.spec.scale * LOG2_E;
    const float *strip = &bias.of[lane_col() - lane_row() + Sizes::QUERIES - 1 - first_row];
    if (attn.bias.p)
        EACH_SUM(M, N) s[m][n][2 * h + e] = s[m][n][2 * h + e] * scale + strip[8 * (n - 2 * m - h) + e];
    else
        EACH_SUM(M, N) s[m][n][2 * h + e] *= scale;
    if (tile_full(attn, span, j, j + Sizes::KEYS))
        return;
    EACH(m, M) EACH(h, 2)
    {
        int row = row_of(first_row, m, h);
        int64_t begin = 0, end = 0;
        if (i + row < pairs.of.tq)
            attn_visible(&attn.spec, pairs.of, i + row, &begin, &end);
        Seen seen = { (int)attn_between(begin - j, 0, Sizes::KEYS), (int)attn_between(end - j, 0, Sizes::KEYS),
                      attn.layout.blocks ? groups[row] : ~0u };
        EACH(n, N) EACH(e, 2) if (!is_seen(seen, column_of(n, e))) s[m][n][2 * h + e] = -INFINITY;
    }
}

/* What a thread loads of each tile of keys; some stays in registers until it is stored in shared memory. */
template <class Sizes> struct KeyFetch {
    TileCopy<2, MMA_THREADS, Sizes::KEYS, Sizes::DIM> copy; /* keys and values */
    BiasFetch<Sizes::QUERIES, Sizes::KEYS> bias;

    __device__ inline void open(const Attn &attn, const Pairs &pairs)
    {
        copy.open(pairs.k0, pairs.k0 + pairs.of.tk, k_channel(attn, pairs), (int)attn.dim, { attn.k, attn.v });
        bias.open(attn, pairs);
    }
    /* Starts to copy a tile of keys and values to shared memory, and stores there which groups of keys each query
     * attends to (Seen.groups). */
    __device__ inline void stage(typename Sizes::Shared *shared, int turn, const Attn &attn, const Pairs &pairs,
                                 int64_t i, int j) const
    {
        int buffer = turn % Sizes::BUFFERS;
        copy.start(&shared->k[buffer], 0, attn.k.ld, j, 0);
        copy.start(&shared->v[buffer], 1, attn.v.ld, j, 0);
        if (attn.layout.blocks == 0)
            return;
        for (int r = (int)threadIdx.x; r < Sizes::QUERIES; r += MMA_THREADS)
            shared->groups[turn][r] = seen_by(attn, pairs, i + r, j, Sizes::KEYS).groups;
        __syncwarp(); /* wgmma takes whole warps */
    }
    __device__ inline void fetch(const Attn &attn, const Pairs &pairs, int64_t i, int j)
    {
        bias.fetch(attn, pairs.head, j - (int)i);
    }
    __device__ inline void put(typename Sizes::Shared *shared, int turn) const
    {
        bias.put(&shared->bias[turn]);
    }
};

/* Double buffering of tiles of keys: begin_keys loads the first tile, from key j on; await_keys waits for the current
 * tile and starts to load the next one, from key `next` on; finish_keys completes the loading of the next tile. A
 * `next` that is not below span.end means that there is no next tile. */
template <class Sizes>
static __device__ inline void begin_keys(typename Sizes::Shared *shared, KeyFetch<Sizes> *fetch, const Attn &attn,
                                         const Pairs &pairs, const KeySpan &span, int64_t i, int j)
{
    fetch->open(attn, pairs);
    if (j < span.end) {
        fetch->stage(shared, 0, attn, pairs, i, j);
        fetch->fetch(attn, pairs, i, j);
        fetch->put(shared, 0);
    }
    copy_wait();
    __syncthreads();
}

template <class Sizes>
static __device__ inline void await_keys(typename Sizes::Shared *shared, KeyFetch<Sizes> *fetch, const Attn &attn,
                                         const Pairs &pairs, const KeySpan &span, int64_t i, int next, int turn)
{
    copy_wait();
    __syncthreads(); /* this tile is complete, and all threads have read the previous one */
    if (next >= span.end)
        return;
    if (Sizes::BUFFERS == 2)
        fetch->stage(shared, turn ^ 1, attn, pairs, i, next);
    fetch->fetch(attn, pairs, i, next);
}

template <class Sizes>
static __device__ inline void finish_keys(typename Sizes::Shared *shared, const KeyFetch<Sizes> &fetch,
                                          const Attn &attn, const Pairs &pairs, const KeySpan &span, int64_t i,
                                          int next, int turn)
{
    if (next >= span.end)
        return;
    if (Sizes::BUFFERS == 1) {
        __syncthreads(); /* all threads have read the only buffer */
        fetch.stage(shared, turn ^ 1, attn, pairs, i, next);
    }
    fetch.put(shared, turn ^ 1);
}

/* Writes the sums of a tile, multiplied by a factor per row (factor[m][h]), to columns [channel, channel + dim) of y;
 * row 0 of the tile is row `row` of y, and rows from `end` on are dropped. */
template <int DTYPE, int M, int N>
static __device__ inline void store_rows(const View &y, const float (&c)[M][N][4], const float (&factor)[M][2],
                                         int64_t row, int64_t end, int first_row, int64_t channel, int64_t dim)
{
    EACH(m, M) EACH(h, 2) EACH(n, N)
    {
        int64_t at = row + row_of(first_row, m, h), left = at < end ? dim - column_of(n, 0) : 0;
        store_pair<DTYPE>(y, at, channel + column_of(n, 0), left, factor[m][h] * c[m][n][2 * h],
                          factor[m][h] * c[m][n][2 * h + 1]);
    }
}
