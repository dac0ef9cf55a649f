/* scratch.h: bytes of scratch memory that operations of the cuda backend work in beside their operands. The kernels ask
 * for it by these functions (gpu_scratch in kernels/gpu.h); the null device computes by SCRATCH_OF how much the
 * operations of a run need, so that a plan includes it. A number of bytes never falls when a batch grows, so a full
 * batch needs the most. Attention forward needs some only for up to DECODE_QUERIES queries per sequence, but batches of
 * short sequences may follow a full one: its number of bytes is that of the batch that needs the most in as many rows.
 *
 * Letters are those of op_list.inc. */
#pragma once

#include "device/attn_spec.h"

enum { GROUP_CALLS = 24 };  /* largest number of calls of a group (device_group_begin) that one launch executes */
enum { ROW_LIMIT = 16384 }; /* longest rows whose sums one thread block computes */
enum {
    DECODE_QUERIES = 8,  /* most queries per sequence of attention that is split over keys */
    DECODE_BLOCKS = 512, /* thread blocks of such a launch to aim at */
    DECODE_KEYS = 128    /* fewest keys of a split */
};
enum { PARTIAL_LIMIT = 64 << 20, DISTANCE_LIMIT = 512 }; /* `most` of scratch_diagonals and of scratch_distances */
enum { TOTAL_THREADS = 256, TOTAL_BLOCKS = 512 };

static inline int64_t scratch_parts(int64_t n, int64_t of)
{
    return (n + of - 1) / of;
}

static inline size_t scratch_more(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Number of ranges of rows, one per thread block, over which the column sums of a tensor (rows, cols) are divided.
 * row_sums: each block reads whole rows, a few of them; four blocks are at work on a multiprocessor at once. */
static inline int64_t scratch_ranges(int64_t rows, int64_t cols, bool row_sums)
{
    enum { MOST_BLOCKS = 1024, MOST_CHUNKED = 256, MOST_OF_ROWS = 512 };
    enum { ROWS_OF_BLOCK = 8, ROWS_OF_WIDE = 2, COLS_OF_BLOCK = 256, COLS_OF_ROWS = 1024 };
    const int64_t blocks = scratch_parts(cols, COLS_OF_BLOCK),
                  each = row_sums && cols > COLS_OF_ROWS ? ROWS_OF_WIDE : ROWS_OF_BLOCK,
                  chunked = attn_between(MOST_BLOCKS / (blocks < 1 ? 1 : blocks), 1, MOST_CHUNKED);
    return attn_between(scratch_parts(rows, each), 1, row_sums ? (int64_t)MOST_OF_ROWS : chunked);
}

/* Sums over the columns of a tensor (rows, cols), `column_sums` kinds of numbers of `bytes` bytes; of longer rows than
 * ROW_LIMIT, row_sums sums of each row in f32, too. */
static inline size_t scratch_columns(int64_t rows, int64_t cols, int column_sums, int row_sums, size_t bytes)
{
    const bool is_long = row_sums > 0 && cols > ROW_LIMIT;
    const int64_t n = column_sums * scratch_ranges(rows, cols, row_sums > 0 && !is_long) * cols;
    return (size_t)n * bytes + (is_long ? (size_t)(rows * row_sums) * sizeof(float) : 0);
}

/* Number of thread blocks for the sum of a tensor, each of which leaves one f64. */
static inline int64_t scratch_total_blocks(int64_t rows, int64_t cols)
{
    return attn_between(scratch_parts(rows * scratch_parts(cols, 8), TOTAL_THREADS), 1, TOTAL_BLOCKS);
}

static inline size_t scratch_total(Tensor x)
{
    return (size_t)scratch_total_blocks(tensor_rows(x), tensor_cols(x)) * sizeof(double);
}

/* The first operation of Adafactor: column sums of a factored matrix g, then the sum of its rows' moments. */
static inline size_t scratch_moments(Tensor g, Tensor row)
{
    if (!tensor_present(row))
        return 0;
    return scratch_more(scratch_columns(tensor_rows(g), tensor_cols(g), 1, 1, sizeof(float)), scratch_total(row));
}

/* The sort of n tokens by their ids (kernels/sort.h). */
static inline size_t scratch_sort(int64_t n)
{
    enum { TILE_OF_SORT = 1024, DIGITS_OF_SORT = 256 };
    return (size_t)(4 * n + DIGITS_OF_SORT * scratch_parts(n, TILE_OF_SORT)) * sizeof(int32_t);
}

/* Partial sums (C) of one of two kinds, of each tile of 32 of n tokens, for the gradient of an embedding. */
static inline size_t scratch_runs(int64_t n, int64_t cols)
{
    enum { TILE_OF_RUNS = 32 };
    return (size_t)(scratch_parts(n, TILE_OF_RUNS) * cols) * sizeof(float);
}

static inline size_t scratch_scatter_add(int64_t n, int64_t cols)
{
    return (scratch_sort(n) + 255) / 256 * 256 + 2 * scratch_runs(n, cols);
}

/* Attention whose keys are divided over `splits` thread blocks: for each query and head, the sums of each split. */
static inline size_t scratch_splits(int64_t queries, int64_t heads, int64_t splits, int64_t dim)
{
    return (size_t)(queries * heads * splits * (dim + 2)) * sizeof(float);
}

/* The most ranges that the keys of n_seq sequences are divided into. */
static inline int64_t scratch_split_count(const AttnSpec *spec, int64_t n_seq)
{
    const int64_t wanted = scratch_parts(DECODE_BLOCKS, n_seq * attn_kv_heads(spec));
    return attn_between(scratch_parts(spec->max_k, DECODE_KEYS), 1, wanted);
}

/* Rows × splits of the batch that needs the most of those with up to `rows` queries and max_k keys per sequence. */
static inline int64_t scratch_most_splits(const AttnSpec *spec, int64_t rows)
{
    enum { PADDING = 15 }; /* rows beyond the last sequence: FP8 rounds their number up to a multiple of 16 */
    int64_t most = 0;
    for (int64_t n = 1, splits; (splits = scratch_split_count(spec, n)) > 1; n++) {
        const int64_t queries = attn_between(rows, 0, DECODE_QUERIES * n + PADDING);
        most = most > queries * splits ? most : queries * splits;
    }
    return most;
}

/* Self-attention of short sequences has few keys. Embeddings of distances are not computed in splits. */
static inline size_t scratch_attn_fwd(const AttnSpec *spec, Tensor q)
{
    const int64_t rows = tensor_rows(q), dim = tensor_cols(q) / spec->heads;
    const bool few = spec->max_q <= DECODE_QUERIES;
    if (spec->distance || (!few && spec->cu_q.host == spec->cu_k.host))
        return 0;
    const int64_t splits = few && spec->n_seq > 0 ? scratch_split_count(spec, spec->n_seq) : 1,
                  own = splits > 1 ? rows * splits : 0, most = scratch_most_splits(spec, rows);
    return scratch_splits(own > most ? own : most, spec->heads, 1, dim);
}

/* Partial sums of the gradient of attention's bias, one number per diagonal, head and tile of 64 queries: at most
 * `most` bytes, and no more than a tensor like the queries (rows, heads · dim) takes in f32, but always those of one
 * tile. If all tiles need more, they are computed in parts. */
static inline size_t scratch_diagonals(int64_t rows, int64_t heads, int64_t dim, int64_t max_k, int64_t most)
{
    const int64_t bytes = rows * heads * dim * (int64_t)sizeof(float),
                  tile = heads * (max_k + 63) * (int64_t)sizeof(float);
    const int64_t limit = bytes < most ? bytes : most;
    return (size_t)(limit > tile ? limit : tile);
}

/* The dot product of each query's output and its gradient, per head: a multiple of 256 bytes. */
static inline size_t scratch_deltas(int64_t rows, int64_t heads)
{
    return (size_t)scratch_parts(heads * rows, 64) * 64 * sizeof(float);
}

/* The gradient of the embeddings of distances is summed by bands of tiles of 64 × 64 pairs, each of which has 128
 * distances: the number of bands, and of parts of the sequences and heads that leave sums of each. `most`: parts times
 * bands, if there are fewer bands. */
static inline int64_t scratch_distance_bands(const AttnSpec *spec)
{
    return 2 * attn_between(scratch_parts(spec->max_q > spec->max_k ? spec->max_q : spec->max_k, 64), 1, INT32_MAX);
}

static inline int64_t scratch_distance_parts(const AttnSpec *spec, int64_t most)
{
    const int64_t heads = (int64_t)spec->n_seq * spec->heads;
    return attn_between(most / scratch_distance_bands(spec), 1, heads > 1 ? heads : 1);
}

/* As many parts as `most` allows, however few sequences there are: another batch of as many rows may have more. */
static inline size_t scratch_distances(const AttnSpec *spec, int64_t dim, int64_t most)
{
    const int64_t bands = scratch_distance_bands(spec), sums = bands > most ? bands : most;
    return spec->distance ? (size_t)(sums * 2 * 64 * dim) * sizeof(float) : 0;
}

static inline size_t scratch_attn_bwd(const AttnSpec *spec, Tensor q, Tensor dbias)
{
    const int64_t rows = tensor_rows(q), dim = tensor_cols(q) / spec->heads;
    return scratch_deltas(rows, spec->heads) + scratch_distances(spec, dim, DISTANCE_LIMIT) +
           (tensor_present(dbias) ? scratch_diagonals(rows, spec->heads, dim, spec->max_k, PARTIAL_LIMIT) : 0);
}

/* The sums of a norm's backward; RMSNorm, without a mean, has half as many. */
static inline size_t scratch_norm_bwd(Tensor x, Tensor mean)
{
    const int sums = tensor_present(mean) ? 2 : 1;
    return scratch_columns(tensor_rows(x), tensor_cols(x), sums, sums, sizeof(float));
}

/* The bias of a product, rounded or aligned as cuBLASLt asks for it. */
static inline size_t scratch_bias(Tensor b)
{
    return tensor_present(b) ? (size_t)scratch_parts(tensor_cols(b), 4) * 16 : 0;
}

/* A product of FP8: its bias, and 16 rows of result and operand for the last rows. */
static inline size_t scratch_fp8(Tensor y, Tensor a, Tensor bias)
{
    return scratch_bias(bias) + 16 * ((size_t)tensor_cols(y) * sizeof(float) + (size_t)tensor_cols(a));
}

/* SCRATCH_OF(name): bytes that a call of operation `name` needs, from its parameters in op_list.inc; 0 for others. */
#define SCRATCH_linear                     , scratch_bias(b)
#define SCRATCH_fp8_linear                 , scratch_fp8(y, a, bias)
#define SCRATCH_fp8_scale                  , 2048
#define SCRATCH_scatter_add                , scratch_scatter_add(tensor_rows(dy), tensor_cols(dy))
#define SCRATCH_norm_bwd                   , scratch_norm_bwd(x, mean)
#define SCRATCH_column_sums                , scratch_columns(tensor_rows(x), tensor_cols(x), 1, 0, sizeof(float))
#define SCRATCH_sum_rows                   , scratch_columns(tensor_rows(x), tensor_cols(x), 1, 0, sizeof(double))
#define SCRATCH_attn_fwd                   , scratch_attn_fwd(spec, q)
#define SCRATCH_attn_bwd                   , scratch_attn_bwd(spec, q, dbias)
#define SCRATCH_sumsq                      , scratch_total(x)
#define SCRATCH_adafactor_moments          , scratch_moments(g, row)
#define SCRATCH_adafactor_size             , scratch_total(g)
#define SCRATCH_SECOND(first, second, ...) second
#define SCRATCH_FOUND(...)                 SCRATCH_SECOND(__VA_ARGS__, 0, 0)
#define SCRATCH_OF(name)                   ((size_t)(SCRATCH_FOUND(SCRATCH_##name)))
