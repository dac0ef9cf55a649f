/* attention_tiles.h: computes tiles of attention scores, and their products with values, on CUDA cores, for f32 and for
 * embeddings of distances.
 *
 * A thread block works on one sequence and head, on a tile of ATTN_TILE queries × ATTN_TILE keys at a time. Each thread
 * has ROWS queries and COLS consecutive keys; LANES consecutive threads have the same queries. CHANNELS channels at a
 * time are copied to shared memory as f32. The whole matrix of scores is never in memory. */
#pragma once

#include "device/cuda/kernels/attention.h"

enum { ATTN_TILE = 64, ROWS = 4, COLS = 4, LANES = 16, ATTN_THREADS = 256, CHANNELS = 32 };

/* Shared memory of a block: chunks of two operands, and one number per pair of query and key, such as a probability. */
struct AttnShared {
    float a[ATTN_TILE][CHANNELS + 1], b[ATTN_TILE][CHANNELS + 1];
    float pairs[ATTN_TILE][ATTN_TILE + 1];
};

/* The thread's first query and key within a tile. */
static __device__ inline int first_row(void)
{
    return (int)threadIdx.x / LANES * ROWS;
}

static __device__ inline int first_col(void)
{
    return (int)threadIdx.x % LANES * COLS;
}

/* Copies a chunk to shared memory: tile[r][c] = x[first + r][channel + c]; 0 if first + r >= end or c >= n. */
static __device__ APART void stage(float (*tile)[CHANNELS + 1], const View &x, int64_t first, int64_t end,
                                   int64_t channel, int64_t n)
{
    for (int i = (int)threadIdx.x; i < ATTN_TILE * CHANNELS / VEC; i += ATTN_THREADS) {
        int r = i / (CHANNELS / VEC), c = i % (CHANNELS / VEC) * VEC;
        float out[VEC] = {};
        if (first + r < end && c < n)
            load_any(out, x, first + r, channel + c, (int)least(VEC, n - c));
        UNROLL for (int j = 0; j < VEC; j++) tile[r][c + j] = out[j];
    }
}

/* sums[r][c] = dot product over `dim` channels of row a_row + r' of a and row b_row + c' of b, where r' and c' are the
 * thread's r-th query and c-th key of the tile. Rows from a_end and from b_end on count as 0. */
static __device__ inline void tile_products(float (&sums)[ROWS][COLS], AttnShared *shared, const View &a, int64_t a_row,
                                            int64_t a_end, int64_t a_channel, const View &b, int64_t b_row,
                                            int64_t b_end, int64_t b_channel, int64_t dim)
{
    UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int c = 0; c < COLS; c++) sums[r][c] = 0;
    for (int64_t at = 0; at < dim; at += CHANNELS) {
        int64_t n = least(CHANNELS, dim - at);
        __syncthreads(); /* all threads have read the previous chunk */
        stage(shared->a, a, a_row, a_end, a_channel + at, n);
        stage(shared->b, b, b_row, b_end, b_channel + at, n);
        __syncthreads();
        for (int x = 0; x < n; x++) {
            float left[ROWS], right[COLS];
            UNROLL for (int r = 0; r < ROWS; r++) left[r] = shared->a[first_row() + r][x];
            UNROLL for (int c = 0; c < COLS; c++) right[c] = shared->b[first_col() + c][x];
            UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int c = 0; c < COLS; c++) sums[r][c] +=
                left[r] * right[c];
        }
    }
}

/* sums += shared->pairs · x, or with TRANSPOSED += shared->pairsᵀ · x, where x has rows [row, end) and `dim` channels
 * from `channel` on. Of the result a thread has ROWS rows, and OWN channels of each chunk of CHANNELS channels. */
enum { OWN = CHANNELS / LANES };
template <int CHUNKS, bool TRANSPOSED>
static __device__ inline void tile_accumulate(float (&sums)[CHUNKS][ROWS][OWN], AttnShared *shared, const View &x,
                                              int64_t row, int64_t end, int64_t channel, int64_t dim)
{
    int own = (int)threadIdx.x % LANES * OWN;
    UNROLL for (int chunk = 0; chunk < CHUNKS; chunk++)
    {
        if (chunk * CHANNELS >= dim)
            break;
        __syncthreads(); /* pairs are written, and all threads have read the previous chunk */
        stage(shared->a, x, row, end, channel + chunk * CHANNELS, least(CHANNELS, dim - chunk * CHANNELS));
        __syncthreads();
        for (int t = 0; t < ATTN_TILE; t++) {
            float right[OWN];
            UNROLL for (int c = 0; c < OWN; c++) right[c] = shared->a[t][own + c];
            UNROLL for (int r = 0; r < ROWS; r++)
            {
                float left = TRANSPOSED ? shared->pairs[t][first_row() + r] : shared->pairs[first_row() + r][t];
                UNROLL for (int c = 0; c < OWN; c++) sums[chunk][r][c] += left * right[c];
            }
        }
    }
}

/* Writes the sums of tile_accumulate, multiplied by a factor per row, to y; row 0 of the tile is row `row` of y, and
 * rows from `end` on are dropped. */
template <int CHUNKS>
static __device__ inline void tile_store(const float (&sums)[CHUNKS][ROWS][OWN], const View &y, int64_t row,
                                         int64_t end, int64_t channel, int64_t dim, const float (&factor)[ROWS])
{
    int own = (int)threadIdx.x % LANES * OWN;
    UNROLL for (int chunk = 0; chunk < CHUNKS; chunk++) UNROLL for (int r = 0; r < ROWS; r++)
        UNROLL for (int c = 0; c < OWN; c++)
    {
        int64_t at = chunk * CHANNELS + own + c;
        if (row + first_row() + r < end && at < dim)
            store_one(y, row + first_row() + r, channel + at, factor[r] * sums[chunk][r][c]);
    }
}

/* Bit c of the result is set if query i attends to key j + c, for c < COLS. */
static __device__ APART unsigned visible_keys(const Attn &attn, const Pairs &pairs, int64_t i, int64_t j)
{
    unsigned seen = 0;
    int64_t begin, end;
    if (i >= pairs.of.tq)
        return 0;
    attn_visible(&attn.spec, pairs.of, i, &begin, &end);
    for (int c = 0; c < COLS; c++)
        if (j + c >= begin && j + c < end &&
            (attn.layout.blocks == 0 || in_layout(attn, pairs, i + pairs.of.tk - pairs.of.tq, j + c)))
            seen |= 1u << c;
    return seen;
}

/* The part of a score that comes from the embedding e of the distance between query i and key j: q·e, and with
 * distance.keys + k·e. */
static __device__ APART float distance_score(const Attn &attn, const Pairs &pairs, int64_t i, int64_t j)
{
    int64_t row = attn.distance.table.d[0] / 2 + i + pairs.of.tk - pairs.of.tq - j;
    float sum = 0;
    for (int64_t c = 0; c < attn.dim; c += VEC) {
        float e[VEC], q[VEC], k[VEC] = {};
        int n = vec_length(attn.dim, c);
        load_any(e, attn.table, row, c, n);
        load_any(q, attn.q, pairs.q0 + i, q_channel(attn, pairs) + c, n);
        if (attn.distance.keys)
            load_any(k, attn.k, pairs.k0 + j, k_channel(attn, pairs) + c, n);
        UNROLL for (int x = 0; x < VEC; x++) sum += e[x] * (q[x] + k[x]);
    }
    return sum;
}

/* The thread's scores in the tile whose first query is i and first key is j; -inf if the query does not attend to the
 * key. */
static __device__ inline void tile_scores(float (&scores)[ROWS][COLS], const Attn &attn, const Pairs &pairs, int64_t i,
                                          int64_t j, AttnShared *shared)
{
    tile_products(scores, shared, attn.q, pairs.q0 + i, pairs.q0 + pairs.of.tq, q_channel(attn, pairs), attn.k,
                  pairs.k0 + j, pairs.k0 + pairs.of.tk, k_channel(attn, pairs), attn.dim);
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        int64_t query = i + first_row() + r, key = j + first_col();
        unsigned seen = visible_keys(attn, pairs, query, key);
        UNROLL for (int c = 0; c < COLS; c++)
        {
            bool is_seen = seen >> c & 1;
            float score = scores[r][c];
            if (is_seen && attn.table.p)
                score += distance_score(attn, pairs, query, key + c);
            score *= attn.spec.scale;
            if (is_seen && attn.bias.p)
                score += bias_of(attn, pairs, query, key + c);
            scores[r][c] = is_seen ? score : -INFINITY;
        }
    }
}

/* Sets the dropout factors (0 or philox_kept) of query i for the keys j … j + 3; j is a multiple of 4. */
static __device__ inline void mask_attention(float (&factors)[COLS], const Attn &attn, const Pairs &pairs, int64_t i,
                                             int64_t j)
{
    const Mask &mask = attn.mask;
    UNROLL for (int c = 0; c < COLS; c++) factors[c] = 1;
    if (mask.sample == NULL || i >= pairs.of.tq)
        return;
    uint64_t sample = (uint64_t)mask.sample[pairs.q0 + i];
    uint32_t head = (uint32_t)(attn.spec.first_head + pairs.head), position = (uint32_t)mask.position[pairs.q0 + i];
    PhiloxWords words = philox4x32(mask.key, (uint32_t)sample, (uint32_t)(sample >> 32) | head << 16, position,
                                   (uint32_t)(j / PHILOX_ELEMENTS));
    mask_four(factors, mask, words, (uint32_t)j);
}

/* Launches the kernel that is compiled for the smallest number of chunks (2, 4 or 8 of CHANNELS channels) that a head
 * fits. */
template <template <int> class Kernel, class... Arguments>
static void launch_by_dim(Gpu *gpu, Shape shape, const Attn &attn, Arguments... arguments)
{
    if (attn.dim <= 2 * CHANNELS)
        launch(gpu, shape, Kernel<2>::run, attn, arguments...);
    else if (attn.dim <= 4 * CHANNELS)
        launch(gpu, shape, Kernel<4>::run, attn, arguments...);
    else
        launch(gpu, shape, Kernel<8>::run, attn, arguments...);
}
