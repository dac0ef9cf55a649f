/* attention_fwd.c: computes the softmax of a head's scores and its product with the values. It takes a tile of keys at
 * a time, and a few panels of queries, whose sums are scaled down when a tile raises their maximum. */
#include "device/cpu/bf16/attention.h"

#include <string.h>

enum { ROW_PANELS = 4, TILE_PANELS = 16 }; /* panels of queries that are processed together; panels of keys in a tile */

static const Tiling tiling = { PANEL, INT32_MAX / PANEL *PANEL, PANEL };

/* Scratch memory of a thread. */
typedef struct Scratch {
    uint16_t *keys, *values;     /* right panels of a head */
    uint16_t *queries, *factors; /* left panels: queries where they cannot be read in place; a tile's e^(score - max) */
    float *scores;               /* scores of a tile, in the blocks of bf16_product */
    float *sums;                 /* (ROW_PANELS, panels of channels) blocks of o before the division */
    float *bias, *mask;
    KeyRange *runs;
} Scratch;

static Scratch scratch_fwd(char *memory, const AttnSpec *spec, int64_t size, size_t *used)
{
    int64_t steps = steps_of(size), keys = panels_of_keys(bf16_key_panels(spec, 1), spec->max_k);
    int64_t tile = bf16_key_panels(spec, TILE_PANELS).tile;
    Scratch s;
    *used = 0;
    s.keys = attn_take(memory, used, numbers_of_bf16(keys * steps * PANEL_STEP));
    s.values = attn_take(memory, used, numbers_of_bf16(keys * steps * PANEL_STEP));
    s.queries = attn_take(memory, used, numbers_of_bf16(steps * PANEL_STEP));
    s.factors = attn_take(memory, used, numbers_of_bf16(tile * PANEL_STEP));
    s.scores = attn_take(memory, used, numbers_of_f32(tile * SUMS));
    s.sums = attn_take(memory, used, numbers_of_f32(ROW_PANELS * steps * SUMS));
    s.bias = attn_take(memory, used, numbers_of_f32(bias_numbers(spec->max_q, spec->max_k)));
    s.mask = attn_take(memory, used, numbers_of_f32(tile * PANEL));
    s.runs = attn_take(memory, used, sizeof(KeyRange) * (size_t)attn_max_runs(spec, tiling));
    return s;
}

size_t bf16_attention_fwd_bytes(const AttnSpec *spec, int64_t size)
{
    size_t used;
    (void)scratch_fwd(NULL, spec, size, &used);
    return used;
}

/* A panel of queries: the largest exponent of each so far, and partial sums of 2^(exponent - max). */
typedef struct Rows {
    float max[PANEL], total[PANEL][SIDE] __attribute__((aligned(64)));
    int64_t first, n;
    bool started; /* whether an earlier tile has contributed to the sums */
} Rows;

typedef struct Forward {
    const Head *head;
    const Scratch *scratch;
    KeyPanels panels;
    const float *bias;
    __m512 scale;
    int64_t steps, all; /* number of panels of channels; of panels of keys */
} Forward;

/* One row of a tile. bias[c] and mask[c] are those of column c; `scores` and `factors` of the first panel. */
typedef struct Row {
    const float *scores, *bias, *mask;
    uint16_t *factors;
    __m512 scale;
} Row;

static inline __attribute__((always_inline)) __m512 exponent(const Row *row, int64_t column, int half, bool biased)
{
    __m512 x = _mm512_load_ps(row->scores + column * PANEL + half * SIDE);
    return biased ? _mm512_fmadd_ps(x, row->scale, _mm512_loadu_ps(row->bias + column + half * SIDE))
                  : _mm512_mul_ps(x, row->scale);
}

static inline __attribute__((always_inline)) __m512 larger_of(__m512 most, const Row *row, int64_t column, int half,
                                                              uint32_t lanes, bool biased)
{
    return _mm512_mask_max_ps(most, (__mmask16)(lanes >> half * SIDE), most, exponent(row, column, half, biased));
}

static inline __attribute__((always_inline)) __m512 row_max(const Row *row, Range columns, bool biased)
{
    __m512 most = _mm512_set1_ps(-INFINITY), other = most;
    for (int64_t c = columns.begin / PANEL * PANEL; c < columns.end; c += PANEL) {
        if (c >= columns.begin && c + PANEL <= columns.end) {
            most = larger_of(most, row, c, 0, ~0u, biased);
            other = larger_of(other, row, c, 1, ~0u, biased);
        } else {
            most = larger_of(most, row, c, 0, lanes_within(columns, c), biased);
            other = larger_of(other, row, c, 1, lanes_within(columns, c), biased);
        }
    }
    return _mm512_max_ps(most, other);
}

/* Computes the factors e^(score - max) of columns [column, column + PANEL); returns total + their sum. */
static inline __attribute__((always_inline)) __m512
exponentials_512(__m512 total, const Row *row, __m512 max, int64_t column, uint32_t lanes, bool biased, bool drops)
{
    __m512 a = exp2_f32(_mm512_sub_ps(exponent(row, column, 0, biased), max));
    __m512 b = exp2_f32(_mm512_sub_ps(exponent(row, column, 1, biased), max));
    if (lanes != ~0u) {
        a = _mm512_maskz_mov_ps((__mmask16)lanes, a);
        b = _mm512_maskz_mov_ps((__mmask16)(lanes >> 16), b);
    }
    total = _mm512_add_ps(total, _mm512_add_ps(a, b));
    if (drops) {
        a = _mm512_maskz_mul_ps((__mmask16)lanes, a, _mm512_loadu_ps(row->mask + column));
        b = _mm512_maskz_mul_ps((__mmask16)(lanes >> 16), b, _mm512_loadu_ps(row->mask + column + SIDE));
    }
    _mm512_store_si512(row->factors + column * PANEL, (__m512i)_mm512_cvtne2ps_pbh(b, a));
    return total;
}

static inline __attribute__((always_inline)) __m512 row_exponentials(__m512 total, const Row *row, __m512 max,
                                                                     Range columns, bool biased, bool drops)
{
    for (int64_t c = columns.begin / PANEL * PANEL; c < columns.end; c += PANEL) {
        if (c >= columns.begin && c + PANEL <= columns.end)
            total = exponentials_512(total, row, max, c, ~0u, biased, drops);
        else
            total = exponentials_512(total, row, max, c, lanes_within(columns, c), biased, drops);
    }
    return total;
}

/* Sets the factors of columns [begin, end) to zero, panel by panel. */
static void zero_factors(const Row *row, int64_t begin, int64_t end)
{
    for (int64_t c = begin; c < end; c += PANEL)
        _mm512_store_si512(row->factors + c * PANEL, _mm512_setzero_si512());
}

static Range seen_columns(const Forward *f, int64_t i, const KeyRange *run, bool whole)
{
    Range seen = whole ? (Range){ 0, run->keys } : attn_seen(f->head, i, run);
    return (Range){ run->column + seen.begin, run->column + seen.end };
}

static Row row_of_run(const Forward *f, int64_t i, int64_t r, const KeyRange *run)
{
    return (Row){ .scores = f->scratch->scores + r * PANEL,
                  .bias = f->bias ? f->bias + run->begin - i - run->column : NULL,
                  .mask = f->scratch->mask,
                  .factors = f->scratch->factors + r * PANEL,
                  .scale = f->scale };
}

static void drop_columns(const Forward *f, int64_t i, const KeyRange *run, Range columns)
{
    const Head *head = f->head;
    MaskRow factors = mask_row(head->drop, head->q_first + i, (uint32_t)head->number);
    int64_t from = (columns.begin - run->column) / 4 * 4;
    if (columns.begin < columns.end)
        mask_fill(f->scratch->mask + run->column + from, &factors, run->begin + from, columns.end - run->column - from);
}

/* The largest exponent of row r in this tile and in earlier tiles. */
static inline __attribute__((always_inline)) float largest(const Forward *f, const Rows *rows, Block tile, int64_t r,
                                                           bool whole, bool biased)
{
    int64_t i = rows->first + r;
    __m512 most = _mm512_set1_ps(rows->max[r]);
    for (const KeyRange *run = tile.runs; run < tile.runs + tile.n_runs; run++) {
        Row row = row_of_run(f, i, r, run);
        most = _mm512_max_ps(most, row_max(&row, seen_columns(f, i, run, whole), biased));
    }
    return _mm512_reduce_max_ps(most);
}

/* Row r of a tile, whose largest exponent is `max`: its scores become factors. Returns the factor on the sums of
 * earlier tiles. */
static inline __attribute__((always_inline)) float softmax_row(const Forward *f, Rows *rows, Block tile, int64_t r,
                                                               float max, bool whole, bool biased, bool drops)
{
    int64_t i = rows->first + r;
    float old = rows->max[r];
    float factor = old == max ? 1 : _mm512_cvtss_f32(exp2_f32(_mm512_set1_ps(old - max)));
    __m512 total = _mm512_mul_ps(_mm512_load_ps(rows->total[r]), _mm512_set1_ps(factor));
    for (const KeyRange *run = tile.runs; run < tile.runs + tile.n_runs; run++) {
        Row row = row_of_run(f, i, r, run);
        Range columns = seen_columns(f, i, run, whole);
        if (drops)
            drop_columns(f, i, run, columns);
        total = row_exponentials(total, &row, _mm512_set1_ps(max), columns, biased, drops);
        if (!whole) {
            int64_t begin = columns.begin / PANEL * PANEL, end = (columns.end + PANEL - 1) / PANEL * PANEL;
            bool none = columns.begin >= columns.end;
            zero_factors(&row, run->column, none ? run->column + run->keys : begin);
            zero_factors(&row, none ? run->column + run->keys : end, run->column + run->keys);
        }
    }
    _mm512_store_ps(rows->total[r], total);
    rows->max[r] = max;
    return factor;
}

static void scale_row(float *sums, int64_t steps, float factor)
{
    __m512 by = _mm512_set1_ps(factor);
    for (int64_t c = 0; c < steps; c++, sums += SUMS) {
        _mm512_store_ps(sums, _mm512_mul_ps(_mm512_load_ps(sums), by));
        _mm512_store_ps(sums + SIDE, _mm512_mul_ps(_mm512_load_ps(sums + SIDE), by));
    }
}

static inline __attribute__((always_inline)) void softmax_rows(const Forward *f, Rows *rows, float *sums, Block tile,
                                                               bool whole, bool biased, bool drops)
{
    float next = largest(f, rows, tile, 0, whole, biased);
    for (int64_t r = 0; r < rows->n; r++) {
        float max = next; /* the maximum of the next row is computed while the exponentials of this row are in flight */
        if (r + 1 < rows->n)
            next = largest(f, rows, tile, r + 1, whole, biased);
        float factor = softmax_row(f, rows, tile, r, max, whole, biased, drops);
        if (factor < 1 && rows->started)
            scale_row(sums + r * PANEL, f->steps, factor);
    }
}

/* All queries of the tile see all of its keys. */
static bool sees_all(const Forward *f, Block tile)
{
    KeyRange run = tile.runs[0];
    Range first = attn_keys(f->head, tile.first), last = attn_keys(f->head, tile.first + tile.rows - 1);
    return tile.n_runs == 1 && last.begin <= run.begin && first.end >= run.begin + run.keys;
}

static void softmax(const Forward *f, Rows *rows, float *sums, Block tile)
{
    bool whole = sees_all(f, tile), drops = f->head->drop->rate > 0;
    if (f->bias && drops)
        softmax_rows(f, rows, sums, tile, whole, true, true);
    else if (f->bias)
        softmax_rows(f, rows, sums, tile, whole, true, false);
    else if (drops)
        softmax_rows(f, rows, sums, tile, whole, false, true);
    else
        softmax_rows(f, rows, sums, tile, whole, false, false);
}

/* Adds one tile's contribution to the sums of a panel of queries. */
static void tile_fwd(const Forward *f, Rows *rows, float *sums, Block tile)
{
    const Scratch *s = f->scratch;
    Left queries = bf16_left_rows(s->queries, f->head->q, rows->first, rows->n);
    for (const KeyRange *run = tile.runs; run < tile.runs + tile.n_runs; run++) {
        const uint16_t *keys = s->keys + panel_of_key(f->panels, run->begin) * f->steps * PANEL_STEP;
        for (int64_t c = 0; c < run->keys; c += PANEL, keys += f->steps * PANEL_STEP)
            bf16_product(s->scores + (run->column + c) * PANEL, queries, keys, f->steps, false);
    }
    softmax(f, rows, sums, tile);
    for (const KeyRange *run = tile.runs; run < tile.runs + tile.n_runs; run++) {
        Left factors = left_panel(s->factors + run->column * PANEL);
        const uint16_t *values = s->values + panel_of_key(f->panels, run->begin) * PANEL_STEP;
        for (int64_t c = 0; c < f->steps; c++)
            bf16_product(sums + c * SUMS, factors, values + c * f->all * PANEL_STEP, steps_of(run->keys),
                         rows->started);
        rows->started = true;
    }
}

/* Writes o and the log-sum-exps of a panel of queries. */
static void write_rows(const Forward *f, Tensor o, float *lse, Rows *rows, float *sums)
{
    if (!rows->started)
        memset(sums, 0, numbers_of_f32(f->steps * SUMS));
    for (int64_t r = 0; r < rows->n; r++) {
        float total = _mm512_reduce_add_ps(_mm512_load_ps(rows->total[r]));
        lse[rows->first + r] = total > 0 ? (rows->max[r] + log2f(total)) * LN_2 : 0;
        scale_row(sums + r * PANEL, f->steps, total > 0 ? 1 / total : 0);
    }
    Output to = { .y = tensor_slice_rows(o, rows->first, rows->n), .alpha = 1 };
    for (int64_t c = 0; c < f->steps; c++)
        bf16_write(&to, sums + c * SUMS, 0, c * PANEL);
}

/* Computes up to ROW_PANELS panels of queries from `first` on; returns the index after the last query. */
static int64_t group_fwd(const Forward *f, Tensor o, float *lse, int64_t first)
{
    Rows rows[ROW_PANELS];
    const Head *head = f->head;
    int n = 0;
    for (; n < ROW_PANELS && first < head->tq; first += rows[n++].n) {
        Block b = attn_block(head, first, tiling, (Range){ 0, 0 }, f->scratch->runs);
        rows[n] = (Rows){ .first = first, .n = b.rows };
        for (int r = 0; r < PANEL; r++)
            rows[n].max[r] = -INFINITY;
    }
    for (int64_t key = 0; key < head->tk; key += f->panels.tile_keys)
        for (int p = 0; p < n; p++) {
            Range tile_keys = { key, min_i64(key + f->panels.tile_keys, head->tk) };
            Block tile = attn_block(head, rows[p].first, tiling, tile_keys, f->scratch->runs);
            if (tile.columns > 0)
                tile_fwd(f, &rows[p], f->scratch->sums + p * f->steps * SUMS, tile);
        }
    for (int p = 0; p < n; p++)
        write_rows(f, o, lse, &rows[p], f->scratch->sums + p * f->steps * SUMS);
    return first;
}

void bf16_attention_fwd(Tensor o, float *lse, const Head *head, void *memory)
{
    size_t used;
    Scratch s = scratch_fwd(memory, head->spec, head->size, &used);
    KeyPanels kp = bf16_key_panels(head->spec, TILE_PANELS);
    Forward f = { .head = head,
                  .scratch = &s,
                  .panels = kp,
                  .bias = bf16_bias(s.bias, head),
                  .scale = _mm512_set1_ps(head->spec->scale * LOG2_E),
                  .steps = steps_of(head->size),
                  .all = panels_of_keys(kp, head->tk) };
    bf16_enter();
    bf16_pack_rows(s.keys, head->k, kp);
    bf16_pack_columns(s.values, head->v, kp);
    for (int64_t first = 0; first < head->tq;)
        first = group_fwd(&f, o, lse, first);
    bf16_leave();
}
