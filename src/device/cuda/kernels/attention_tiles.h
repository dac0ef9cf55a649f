/* attention_tiles.h: computes tiles of attention scores, and their products with values, on CUDA cores, for f32 and for
 * embeddings of distances.
 *
 * A thread block works on one sequence and head, on a tile of ATTN_TILE queries × ATTN_TILE keys at a time. Each thread
 * has ROWS queries and COLS consecutive keys; LANES consecutive threads have the same queries. CHANNELS channels at a
 * time are copied to shared memory as f32. The whole matrix of scores is never in memory. */
#pragma once

#include "device/cuda/kernels/attention.h"

enum { ATTN_TILE = 64, ROWS = 4, COLS = 4, LANES = 16, ATTN_THREADS = 256, CHANNELS = 32 };

/* Rows of CHANNELS channels in shared memory. */
typedef float Chunk[CHANNELS + 1];

/* Shared memory of a block. */
struct AttnShared {
    Chunk operands[2 * ATTN_TILE]; /* chunks of two operands, one behind the other, or of a strip of embeddings */
    union {
        float pairs[ATTN_TILE][ATTN_TILE + 1]; /* one number per query and key, such as a probability */
        Chunk strip[2 * ATTN_TILE];            /* while there are no pairs: a chunk of a strip of embeddings */
    };
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

/* Copies a chunk of a sequence, whose `rows` rows begin at row `row0` of x, to shared memory: tile[r][c] = x[row0 +
 * first
 * + r][channel + c]; 0 if first + r is not in [0, rows) or c >= n. */
static __device__ APART void stage(Chunk *tile, const View &x, int64_t row0, int64_t first, int64_t rows,
                                   int64_t channel, int64_t n)
{
    for (int i = (int)threadIdx.x; i < ATTN_TILE * CHANNELS / VEC; i += ATTN_THREADS) {
        int r = i / (CHANNELS / VEC), c = i % (CHANNELS / VEC) * VEC;
        float out[VEC] = {};
        if (first + r >= 0 && first + r < rows && c < n)
            load_any(out, x, row0 + first + r, channel + c, (int)least(VEC, n - c));
        UNROLL for (int j = 0; j < VEC; j++) tile[r][c + j] = out[j];
    }
}

/* sums[r][c] = dot product over `dim` channels of row a_first + r' of a and row b_first + c' of b, where r' and c' are
 * the thread's r-th query and c-th key of the tile; rows as in `stage`. */
static __device__ inline void tile_products(float (&sums)[ROWS][COLS], AttnShared *shared, const View &a,
                                            int64_t a_row0, int64_t a_first, int64_t a_rows, int64_t a_channel,
                                            const View &b, int64_t b_row0, int64_t b_first, int64_t b_rows,
                                            int64_t b_channel, int64_t dim)
{
    Chunk *of_a = shared->operands, *of_b = of_a + ATTN_TILE;
    UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int c = 0; c < COLS; c++) sums[r][c] = 0;
    for (int64_t at = 0; at < dim; at += CHANNELS) {
        int64_t n = least(CHANNELS, dim - at);
        __syncthreads(); /* all threads have read the previous chunk */
        stage(of_a, a, a_row0, a_first, a_rows, a_channel + at, n);
        stage(of_b, b, b_row0, b_first, b_rows, b_channel + at, n);
        __syncthreads();
        for (int x = 0; x < n; x++) {
            float left[ROWS], right[COLS];
            UNROLL for (int r = 0; r < ROWS; r++) left[r] = of_a[first_row() + r][x];
            UNROLL for (int c = 0; c < COLS; c++) right[c] = of_b[first_col() + c][x];
            UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int c = 0; c < COLS; c++) sums[r][c] +=
                left[r] * right[c];
        }
    }
}

/* sums += shared->pairs · x, or with TRANSPOSED += shared->pairsᵀ · x, where x has the rows of `stage` and `dim`
 * channels from `channel` on. A thread has ROWS rows of it, and OWN channels of each chunk of CHANNELS. */
enum { OWN = CHANNELS / LANES };
template <int CHUNKS, bool TRANSPOSED>
static __device__ inline void tile_accumulate(float (&sums)[CHUNKS][ROWS][OWN], AttnShared *shared, const View &x,
                                              int64_t row0, int64_t first, int64_t rows, int64_t channel, int64_t dim)
{
    int own = (int)threadIdx.x % LANES * OWN;
    UNROLL for (int chunk = 0; chunk < CHUNKS; chunk++)
    {
        if (chunk * CHANNELS >= dim)
            break;
        __syncthreads(); /* pairs are written, and all threads have read the previous chunk */
        stage(shared->operands, x, row0, first, rows, channel + chunk * CHANNELS,
              least(CHANNELS, dim - chunk * CHANNELS));
        __syncthreads();
        for (int t = 0; t < ATTN_TILE; t++) {
            float right[OWN];
            UNROLL for (int c = 0; c < OWN; c++) right[c] = shared->operands[t][own + c];
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

/* Whether the sequence has a query i. */
static __device__ inline bool is_query(const Pairs &pairs, int64_t i)
{
    return i >= 0 && i < pairs.of.tq;
}

/* Bit c of the result is set if query i attends to key j + c, for c < COLS. */
static __device__ APART unsigned visible_keys(const Attn &attn, const Pairs &pairs, int64_t i, int64_t j)
{
    unsigned seen = 0;
    int64_t begin, end;
    if (!is_query(pairs, i))
        return 0;
    attn_visible(&attn.spec, pairs.of, i, &begin, &end);
    for (int c = 0; c < COLS; c++)
        if (j + c >= begin && j + c < end &&
            (attn.layout.blocks == 0 || in_layout(attn, pairs, i + pairs.of.tk - pairs.of.tq, j + c)))
            seen |= 1u << c;
    return seen;
}

/* Copies a chunk of the embeddings of a tile's distances, channels [channel, channel + n), to shared memory: row r' -
 * c'
 * + ATTN_TILE - 1 of the strip is for query i + r' and key j + c'. */
static __device__ inline void stage_strip(Chunk *strip, const Attn &attn, const Pairs &pairs, int64_t i, int64_t j,
                                          int64_t channel, int64_t n)
{
    int64_t distances = attn.distance.table.d[0];
    int64_t row = distances / 2 + i + pairs.of.tk - pairs.of.tq - j - (ATTN_TILE - 1);
    stage(strip, attn.table, 0, row, distances, channel, n);
    stage(strip + ATTN_TILE, attn.table, 0, row + ATTN_TILE, distances, channel, n);
}

/* sums += q·e, and with distance.keys + k·e, for the embeddings e of the distances of a tile. */
static __device__ inline void add_distances(float (&sums)[ROWS][COLS], AttnShared *shared, const Attn &attn,
                                            const Pairs &pairs, int64_t i, int64_t j)
{
    Chunk *queries = shared->operands, *keys = queries + ATTN_TILE;
    for (int64_t at = 0; at < attn.dim; at += CHANNELS) {
        int64_t n = least(CHANNELS, attn.dim - at);
        __syncthreads(); /* all threads have read the previous chunk */
        stage(queries, attn.q, pairs.q0, i, pairs.of.tq, q_channel(attn, pairs) + at, n);
        if (attn.distance.keys)
            stage(keys, attn.k, pairs.k0, j, pairs.of.tk, k_channel(attn, pairs) + at, n);
        stage_strip(shared->strip, attn, pairs, i, j, at, n);
        __syncthreads();
        for (int x = 0; x < n; x++) {
            float left[ROWS], right[COLS], e[ROWS + COLS - 1];
            UNROLL for (int r = 0; r < ROWS; r++) left[r] = queries[first_row() + r][x];
            UNROLL for (int c = 0; c < COLS; c++) right[c] = attn.distance.keys ? keys[first_col() + c][x] : 0;
            UNROLL for (int d = 0; d < ROWS + COLS - 1; d++) e[d] =
                shared->strip[first_row() - first_col() + ATTN_TILE - COLS + d][x];
            UNROLL for (int r = 0; r < ROWS; r++) UNROLL for (int c = 0; c < COLS; c++) sums[r][c] +=
                (left[r] + right[c]) * e[r - c + COLS - 1];
        }
    }
    __syncthreads(); /* all threads have read the strip: its memory is that of the pairs, too */
}

/* The thread's scores in the tile whose first query is i and first key is j; -inf for keys that a query ignores. */
static __device__ inline void tile_scores(float (&scores)[ROWS][COLS], const Attn &attn, const Pairs &pairs, int64_t i,
                                          int64_t j, AttnShared *shared)
{
    tile_products(scores, shared, attn.q, pairs.q0, i, pairs.of.tq, q_channel(attn, pairs), attn.k, pairs.k0, j,
                  pairs.of.tk, k_channel(attn, pairs), attn.dim);
    if (attn.table.p)
        add_distances(scores, shared, attn, pairs, i, j);
    UNROLL for (int r = 0; r < ROWS; r++)
    {
        int64_t query = i + first_row() + r, key = j + first_col();
        unsigned seen = visible_keys(attn, pairs, query, key);
        UNROLL for (int c = 0; c < COLS; c++)
        {
            bool is_seen = seen >> c & 1;
            float score = scores[r][c] * attn.spec.scale;
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
    if (mask.sample == NULL || !is_query(pairs, i))
        return;
    uint64_t sample = (uint64_t)mask.sample[pairs.q0 + i];
    uint32_t head = (uint32_t)(attn.spec.first_head + pairs.head), position = (uint32_t)mask.position[pairs.q0 + i];
    PhiloxWords words = philox4x32(mask.key, (uint32_t)sample, (uint32_t)(sample >> 32) | head << 16, position,
                                   (uint32_t)(j / PHILOX_ELEMENTS));
    mask_four(factors, mask, words, (uint32_t)j);
}

/* Launches the kernel for the smallest number of chunks (2, 4 or 8 of CHANNELS channels) that a head fits. */
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
