/* attention_bwd.c: gradients of queries, keys, values and biases. For each tile of keys it goes over the blocks of
 * queries and computes: the probabilities P and the gradients of the scores dS = P∘(mask∘dP - delta), dP = dO Vᵀ, of a
 * group of panels; then dVᵀ += dOᵀ P, dKᵀ += Qᵀ dS, dQ += dS K. */
#include "device/cpu/bf16/attention.h"

#include <string.h>

enum {
    ROW_PANELS = 8,   /* panels of queries in a block */
    GROUP_PANELS = 4, /* panels of keys in a group */
    TILE_PANELS = 16, /* panels of keys in a tile */
    SHIFTS = 16       /* number of arrays that hold sums of the bias's gradient (see below) */
};

static const Tiling tiling = { ROW_PANELS * PANEL, INT32_MAX / PANEL *PANEL, PANEL };

/* Scratch memory of a thread. */
typedef struct Scratch {
    uint16_t *keys, *values, *key_columns;  /* right panels of a tile */
    uint16_t *queries, *douts;              /* left panels of a block, with the channels summed over */
    uint16_t *query_columns, *dout_columns; /* left panels of a block, with the queries summed over */
    uint16_t *p, *ds;                       /* right panels of ROW_PANELS steps: a panel of keys */
    uint16_t *ds_rows;                      /* ROW_PANELS left panels of GROUP_PANELS steps */
    float *scores, *dp;                     /* a block of sums */
    float *dq, *dk, *dv;                    /* blocks of sums, (panels of rows, of channels); dk and dv transposed */
    float *bias, *dbias;                    /* dbias: (SHIFTS, dbias_numbers) */
    float *mask, *lse, *delta;              /* mask: (ROW_PANELS, PANEL, GROUP_PANELS · PANEL) */
    KeyRange *runs;
} Scratch;

/* The largest number of panels that the query blocks of one head fill. */
static int64_t panels_of_queries(const AttnSpec *spec)
{
    int64_t rows = attn_max_rows(spec, tiling), unit = spec->layout ? spec->layout->size : rows;
    int64_t blocks = (spec->max_q / unit + 2) * ((unit + rows - 1) / rows);
    return blocks * panels_of(rows);
}

static int64_t dbias_numbers(int64_t tq, int64_t tk)
{
    return (tq + tk + 3 * PANEL) / SIDE * SIDE;
}

static Scratch scratch_bwd(char *memory, const AttnSpec *spec, int64_t size, size_t *used)
{
    KeyPanels kp = bf16_key_panels(spec, TILE_PANELS);
    int64_t steps = steps_of(size), keys = panels_of_keys(kp, spec->max_k);
    size_t tile = numbers_of_bf16(kp.tile * steps * PANEL_STEP),
           left = numbers_of_bf16(ROW_PANELS * steps * PANEL_STEP);
    size_t group = numbers_of_bf16(ROW_PANELS * GROUP_PANELS * PANEL_STEP);
    int64_t queries = spec->max_q + PANEL;
    Scratch s;
    *used = 0;
    s.keys = attn_take(memory, used, tile);
    s.values = attn_take(memory, used, tile);
    s.key_columns = attn_take(memory, used, tile);
    s.queries = attn_take(memory, used, left);
    s.douts = attn_take(memory, used, left);
    s.query_columns = attn_take(memory, used, left);
    s.dout_columns = attn_take(memory, used, left);
    s.p = attn_take(memory, used, numbers_of_bf16(ROW_PANELS * PANEL_STEP));
    s.ds = attn_take(memory, used, numbers_of_bf16(ROW_PANELS * PANEL_STEP));
    s.ds_rows = attn_take(memory, used, group);
    s.scores = attn_take(memory, used, numbers_of_f32(SUMS));
    s.dp = attn_take(memory, used, numbers_of_f32(SUMS));
    s.dq = attn_take(memory, used, numbers_of_f32(panels_of_queries(spec) * steps * SUMS));
    s.dk = attn_take(memory, used, numbers_of_f32(keys * steps * SUMS));
    s.dv = attn_take(memory, used, numbers_of_f32(keys * steps * SUMS));
    s.bias = attn_take(memory, used, numbers_of_f32(bias_numbers(spec->max_q, spec->max_k)));
    s.dbias = attn_take(memory, used, numbers_of_f32(SHIFTS * dbias_numbers(spec->max_q, spec->max_k)));
    s.mask = attn_take(memory, used, numbers_of_f32(ROW_PANELS * GROUP_PANELS * SUMS));
    s.lse = attn_take(memory, used, numbers_of_f32(queries));
    s.delta = attn_take(memory, used, numbers_of_f32(queries));
    s.runs = attn_take(memory, used, sizeof(KeyRange) * (size_t)attn_max_runs(spec, tiling));
    return s;
}

size_t bf16_attention_bwd_bytes(const AttnSpec *spec, int64_t size)
{
    size_t used;
    (void)scratch_bwd(NULL, spec, size, &used);
    return used;
}

typedef struct Backward {
    const HeadBwd *hb;
    const Scratch *scratch;
    KeyPanels panels;
    const float *bias;
    float *dbias; /* gradient of the bias of key 0, in the first of the SHIFTS arrays; NULL means that it is not
                     computed */
    int64_t dbias_ld;
    __m512 scale;
    int64_t steps;    /* number of panels of channels */
    int64_t key, all; /* the first key of the tile; steps of its key_columns */
} Backward;

/* A panel of queries × a panel of keys. */
typedef struct Patch {
    int64_t i, key; /* first query and key */
    const float *scores, *dp, *mask, *lse, *delta;
    uint16_t *p, *ds, *ds_rows;
    uint32_t lanes[PANEL]; /* for each query, a bit per key of the panel: whether it attends to the key */
} Patch;

typedef struct Pair {
    __m512 p, ds;
} Pair;

/* Computes P and dS for half a row of a patch, and adds dS to the sums of the bias's gradient. whole: all queries of
 * the patch attend to all of its keys. */
static inline __attribute__((always_inline)) Pair half_row(const Backward *b, const Patch *patch, int row, int half,
                                                           bool whole, bool biased, bool drops)
{
    int at = row * PANEL + half * SIDE;
    int64_t i = patch->i + row, key = patch->key + half * SIDE;
    __m512 lse = _mm512_set1_ps(patch->lse[row]), delta = _mm512_set1_ps(patch->delta[row]);
    __m512 score = _mm512_load_ps(patch->scores + at), dp = _mm512_load_ps(patch->dp + at);
    __m512 x = biased ? _mm512_fmadd_ps(score, b->scale, _mm512_sub_ps(_mm512_loadu_ps(b->bias + key - i), lse))
                      : _mm512_fmsub_ps(score, b->scale, lse);
    __m512 p = exp2_f32(x);
    if (!whole)
        p = _mm512_maskz_mov_ps((__mmask16)(patch->lanes[row] >> half * SIDE), p);
    Pair pair = { p, _mm512_mul_ps(p, _mm512_sub_ps(dp, delta)) };
    if (drops) {
        const float *mask_at = patch->mask + row * GROUP_PANELS * PANEL + half * SIDE;
        __m512 mask = whole ? _mm512_load_ps(mask_at)
                            : _mm512_maskz_load_ps((__mmask16)(patch->lanes[row] >> half * SIDE), mask_at);
        pair.ds = _mm512_mul_ps(p, _mm512_fmsub_ps(mask, dp, delta));
        pair.p = _mm512_mul_ps(p, mask);
    }
    if (biased && b->dbias) {
        float *to = b->dbias + i % SHIFTS * b->dbias_ld + key - i / SHIFTS * SHIFTS;
        _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), pair.ds));
    }
    return pair;
}

/* Two rows of bf16 as 16 pairs each of a step of a right panel. Pair x of the step is key key_at(x) of the panel. */
static inline void store_pairs(uint16_t *to, int pair, __m512i even, __m512i odd)
{
    _mm512_store_si512(to + pair * STEP, _mm512_unpacklo_epi16(even, odd));
    _mm512_store_si512(to + BLOCK + pair * STEP, _mm512_unpackhi_epi16(even, odd));
}

static int key_at(int x)
{
    return x % SIDE / 4 * 8 + x / SIDE * 4 + x % 4;
}

static inline __attribute__((always_inline)) void fill_patch(const Backward *b, const Patch *patch, bool whole,
                                                             bool biased, bool drops)
{
    for (int pair = 0; pair < SIDE; pair++) {
        __m512i p[2], ds[2];
        for (int e = 0; e < 2; e++) {
            Pair first = half_row(b, patch, 2 * pair + e, 0, whole, biased, drops);
            Pair second = half_row(b, patch, 2 * pair + e, 1, whole, biased, drops);
            p[e] = (__m512i)_mm512_cvtne2ps_pbh(second.p, first.p);
            ds[e] = (__m512i)_mm512_cvtne2ps_pbh(second.ds, first.ds);
            _mm512_store_si512(patch->ds_rows + (2 * pair + e) * STEP, ds[e]);
        }
        store_pairs(patch->p, pair, p[0], p[1]);
        store_pairs(patch->ds, pair, ds[0], ds[1]);
    }
}

static void fill_key_patch(const Backward *b, const Patch *patch, bool whole)
{
    bool drops = b->hb->head.drop->rate > 0;
    if (!whole)
        fill_patch(b, patch, false, b->bias, drops);
    else if (b->bias && drops)
        fill_patch(b, patch, true, true, true);
    else if (b->bias)
        fill_patch(b, patch, true, true, false);
    else if (drops)
        fill_patch(b, patch, true, false, true);
    else
        fill_patch(b, patch, true, false, false);
}

/* Keys [begin, begin + n) of a run, within a group. */
typedef struct Group {
    int64_t begin, n, panels, first; /* first: its panel in the tile */
} Group;

/* Panel `row` of a block's queries. */
typedef struct RowPanel {
    int64_t row, i, n; /* number in the block, first query, queries */
    Range first, last; /* keys of its first and last query */
    Left queries, douts;
} RowPanel;

static void drop_group(const Backward *b, const RowPanel *rp, Group group)
{
    const Head *head = &b->hb->head;
    float *mask = b->scratch->mask + rp->row * GROUP_PANELS * SUMS;
    for (int64_t r = 0; r < rp->n; r++) {
        MaskRow factors = mask_row(head->drop, head->q_first + rp->i + r, (uint32_t)head->number);
        mask_fill(mask + r * GROUP_PANELS * PANEL, &factors, group.begin, group.n);
    }
}

static bool find_lanes(const Backward *b, Patch *patch, const RowPanel *rp, int64_t n)
{
    bool whole = rp->n == PANEL && n == PANEL && rp->last.begin <= patch->key && rp->first.end >= patch->key + n;
    for (int64_t r = 0; r < PANEL && !whole; r++) {
        Range seen = attn_keys(&b->hb->head, rp->i + r);
        seen.end = min_i64(seen.end, patch->key + n);
        patch->lanes[r] = r < rp->n ? lanes_within(seen, patch->key) : 0;
    }
    return whole;
}

/* Computes P and dS of a panel of queries and panel k of a group of keys. */
static void patch_bwd(const Backward *b, const RowPanel *rp, Group group, int64_t k)
{
    const Scratch *s = b->scratch;
    int64_t panel = (group.first + k) * b->steps * PANEL_STEP;
    Patch patch = { .i = rp->i,
                    .key = group.begin + k * PANEL,
                    .scores = s->scores,
                    .dp = s->dp,
                    .mask = s->mask + rp->row * GROUP_PANELS * SUMS + k * PANEL,
                    .lse = s->lse + rp->i,
                    .delta = s->delta + rp->i,
                    .p = s->p + rp->row * PANEL_STEP,
                    .ds = s->ds + rp->row * PANEL_STEP,
                    .ds_rows = s->ds_rows + (rp->row * GROUP_PANELS + k) * PANEL_STEP };
    bool whole = find_lanes(b, &patch, rp, min_i64(group.n - k * PANEL, PANEL));
    bf16_product(s->scores, rp->queries, s->keys + panel, b->steps, false);
    bf16_product(s->dp, rp->douts, s->values + panel, b->steps, false);
    fill_key_patch(b, &patch, whole);
}

/* Whether any query of the panel attends to any of the PANEL keys from `key` on. The panels of queries, and of keys,
 * for which this is true are consecutive. */
static bool attends(const RowPanel *rp, int64_t key)
{
    return rp->first.begin < key + PANEL && rp->last.end > key;
}

/* Adds to dv and dk of one panel of a group, from P and dS of panels [rows.begin, rows.end) of queries. */
static void keys_bwd(const Backward *b, Range rows, int64_t n_rows, int64_t panel)
{
    const Scratch *s = b->scratch;
    int64_t first = rows.begin * PANEL_STEP, steps = rows.end - rows.begin;
    for (int64_t c = 0; c < b->steps; c++) {
        int64_t sums = (panel * b->steps + c) * SUMS, left = c * n_rows * PANEL_STEP + first;
        bf16_product(s->dv + sums, left_panel(s->dout_columns + left), s->p + first, steps, true);
        bf16_product(s->dk + sums, left_panel(s->query_columns + left), s->ds + first, steps, true);
    }
}

/* Adds to dq of a panel of queries, from dS of panels [keys.begin, keys.end) of a group. */
static void queries_bwd(const Backward *b, const RowPanel *rp, Range keys, float *dq, Group group)
{
    const Scratch *s = b->scratch;
    const uint16_t *ds = s->ds_rows + (rp->row * GROUP_PANELS + keys.begin) * PANEL_STEP;
    for (int64_t c = 0; c < b->steps; c++)
        bf16_product(dq + (rp->row * b->steps + c) * SUMS, left_panel(ds),
                     s->key_columns + (c * b->all + group.first + keys.begin) * PANEL_STEP, keys.end - keys.begin,
                     true);
}

/* Adds a group's contribution to the gradients. */
static void group_bwd(const Backward *b, const RowPanel *rows, int64_t n_rows, float *dq, Group group)
{
    Range seen[ROW_PANELS] = { 0 }; /* for each panel of queries: the panels of keys that it attends to */
    for (int64_t r = 0; b->hb->head.drop->rate > 0 && r < n_rows; r++)
        drop_group(b, &rows[r], group);
    for (int64_t k = 0; k < group.panels; k++) {
        Range seeing = { 0 };
        for (int64_t r = 0; r < n_rows; r++)
            if (attends(&rows[r], group.begin + k * PANEL)) {
                patch_bwd(b, &rows[r], group, k);
                seen[r] = (Range){ seen[r].end ? seen[r].begin : k, k + 1 };
                seeing = (Range){ seeing.end ? seeing.begin : r, r + 1 };
            }
        if (seeing.end)
            keys_bwd(b, seeing, n_rows, panel_of_key(b->panels, b->key) + group.first + k);
    }
    for (int64_t r = 0; r < n_rows; r++)
        if (seen[r].end)
            queries_bwd(b, &rows[r], seen[r], dq, group);
}

static void pack_block(const Backward *b, Block block)
{
    Tensor q = tensor_slice_rows(b->hb->head.q, block.first, block.rows);
    Tensor dout = tensor_slice_rows(b->hb->dout, block.first, block.rows);
    int64_t size = b->hb->head.size;
    bf16_pack(b->scratch->query_columns, (Source){ q.p, q.ld, size, block.rows, true, false }, 0, b->steps, LEFT);
    bf16_pack(b->scratch->dout_columns, (Source){ dout.p, dout.ld, size, block.rows, true, false }, 0, b->steps, LEFT);
}

/* Adds the contributions of a block of queries and those keys of the tile that it attends to. */
static void block_bwd(const Backward *b, float *dq, Block block)
{
    const Head *head = &b->hb->head;
    RowPanel rows[ROW_PANELS];
    int64_t n_rows = steps_of(block.rows), left = b->steps * PANEL_STEP;
    for (int64_t r = 0; r < n_rows; r++) {
        int64_t i = block.first + r * PANEL, n = min_i64(block.rows - r * PANEL, PANEL);
        rows[r] = (RowPanel){ r,
                              i,
                              n,
                              attn_keys(head, i),
                              attn_keys(head, i + n - 1),
                              bf16_left_rows(b->scratch->queries + r * left, head->q, i, n),
                              bf16_left_rows(b->scratch->douts + r * left, b->hb->dout, i, n) };
    }
    pack_block(b, block);
    for (const KeyRange *run = block.runs; run < block.runs + block.n_runs; run++)
        for (int64_t key = 0; key < run->keys; key += GROUP_PANELS * PANEL) {
            int64_t begin = run->begin + key, n = min_i64(run->keys - key, GROUP_PANELS * PANEL);
            Group group = { begin, n, steps_of(n), panel_of_key(b->panels, begin - b->key) };
            group_bwd(b, rows, n_rows, dq, group);
        }
}

static void pack_tile(Backward *b, int64_t key)
{
    const Scratch *s = b->scratch;
    const Head *head = &b->hb->head;
    int64_t n = min_i64(b->panels.tile_keys, head->tk - key);
    b->key = key;
    b->all = panels_of_keys(b->panels, n);
    bf16_pack_rows(s->keys, tensor_slice_rows(head->k, key, n), b->panels);
    bf16_pack_rows(s->values, tensor_slice_rows(head->v, key, n), b->panels);
    bf16_pack_columns(s->key_columns, tensor_slice_rows(head->k, key, n), b->panels);
}

/* Computes delta = dO·O of each query, and its log-sum-exp in base 2. */
static void prepare_queries(const Backward *b)
{
    const HeadBwd *hb = b->hb;
    int64_t size = hb->head.size, tq = hb->head.tq;
    for (int64_t i = 0; i < tq; i++) {
        const uint16_t *dout = (const uint16_t *)hb->dout.p + i * hb->dout.ld,
                       *o = (const uint16_t *)hb->o.p + i * hb->o.ld;
        __m512 sum = _mm512_setzero_ps();
        for (int64_t c = 0; c < size; c += PANEL) {
            __mmask32 lanes = lanes_within((Range){ 0, size }, c);
            sum = _mm512_dpbf16_ps(sum, (__m512bh)_mm512_maskz_loadu_epi16(lanes, dout + c),
                                   (__m512bh)_mm512_maskz_loadu_epi16(lanes, o + c));
        }
        b->scratch->delta[i] = _mm512_reduce_add_ps(sum);
        b->scratch->lse[i] = hb->lse[i] * LOG2_E;
    }
    memset(b->scratch->delta + tq, 0, numbers_of_f32(PANEL));
    memset(b->scratch->lse + tq, 0, numbers_of_f32(PANEL));
}

/* The gradient of the bias is kept in SHIFTS arrays, one for the queries of each i % SHIFTS: bias[j - i] is element j -
 * i + i % SHIFTS of array i % SHIFTS. So the vectors that consecutive queries of an array add to it lie at the same
 * addresses and do not overlap in part. */
static void begin_bias(Backward *b)
{
    const Head *head = &b->hb->head;
    if (!b->hb->dbias)
        return;
    b->dbias_ld = dbias_numbers(head->tq, head->tk);
    b->dbias = b->scratch->dbias + (head->tq + SIDE - 1) / SIDE * SIDE + PANEL;
    memset(b->scratch->dbias, 0, numbers_of_f32(SHIFTS * b->dbias_ld));
}

static void end_bias(const Backward *b)
{
    const Head *head = &b->hb->head;
    for (int64_t shift = 0; shift < SHIFTS && b->dbias; shift++) {
        const float *from = b->dbias + shift * b->dbias_ld + shift;
        for (int64_t d = 1 - head->tq; d < head->tk; d++)
            b->hb->dbias[d] += from[d];
    }
}

/* Writes sums (channels, keys in the order of store_pairs), times alpha, transposed to the rows of t from `key` on. */
static void write_transposed(Tensor t, const float *sums, int64_t key, int64_t n, int64_t channel, float alpha)
{
    uint16_t step[PANEL_STEP] __attribute__((aligned(64)));
    __m512 by = _mm512_set1_ps(alpha);
    for (int pair = 0; pair < SIDE; pair++) {
        __m512i row[2];
        for (int e = 0; e < 2; e++) {
            const float *from = sums + (2 * pair + e) * PANEL;
            row[e] = (__m512i)_mm512_cvtne2ps_pbh(_mm512_mul_ps(_mm512_load_ps(from + SIDE), by),
                                                  _mm512_mul_ps(_mm512_load_ps(from), by));
        }
        store_pairs(step, pair, row[0], row[1]);
    }
    bf16_transpose(step);
    bf16_transpose(step + BLOCK);
    __mmask32 lanes = lanes_within((Range){ 0, t.d[1] }, channel);
    for (int x = 0; x < PANEL; x++) {
        int own = key_at(key_at(x));
        if (own < n)
            _mm512_mask_storeu_epi16((uint16_t *)t.p + (key + own) * t.ld + channel, lanes,
                                     _mm512_load_si512(step + x * STEP));
    }
}

static void write_keys(const Backward *b, Tensor dk, Tensor dv)
{
    KeyPanels kp = b->panels;
    for (int64_t key = 0, n; key < dk.d[0]; key += n) {
        int64_t in_unit = key % kp.unit;
        n = min_i64(min_i64(PANEL, kp.unit - in_unit), dk.d[0] - key);
        for (int64_t c = 0; c < b->steps; c++) {
            int64_t sums = (panel_of_key(kp, key) * b->steps + c) * SUMS;
            write_transposed(dk, b->scratch->dk + sums, key, n, c * PANEL, b->hb->head.spec->scale);
            write_transposed(dv, b->scratch->dv + sums, key, n, c * PANEL, 1);
        }
    }
}

static void write_queries(const Backward *b, const float *dq, Block block)
{
    for (int64_t r = 0; r < block.rows; r += PANEL) {
        Output to = { .y = tensor_slice_rows(b->hb->dq, block.first + r, min_i64(PANEL, block.rows - r)),
                      .alpha = b->hb->head.spec->scale };
        for (int64_t c = 0; c < b->steps; c++, dq += SUMS)
            bf16_write(&to, dq, 0, c * PANEL);
    }
}

/* Processes all blocks of queries with the keys of one tile; after the last tile it writes dq. */
static void tile_bwd(Backward *b, Range keys, bool last)
{
    const Head *head = &b->hb->head;
    float *dq = b->scratch->dq;
    for (int64_t first = 0; first < head->tq;) {
        Block block = attn_block(head, first, tiling, keys, b->scratch->runs);
        int64_t sums = panels_of(block.rows) * b->steps * SUMS;
        if (keys.begin == 0)
            memset(dq, 0, numbers_of_f32(sums));
        if (block.columns > 0)
            block_bwd(b, dq, block);
        if (last)
            write_queries(b, dq, block);
        dq += sums;
        first += block.rows;
    }
}

void bf16_attention_bwd(const HeadBwd *hb, Tensor dk, Tensor dv, bool first, bool last, void *memory)
{
    size_t used;
    const Head *head = &hb->head;
    Scratch s = scratch_bwd(memory, head->spec, head->size, &used);
    KeyPanels kp = bf16_key_panels(head->spec, TILE_PANELS);
    Backward b = { .hb = hb,
                   .scratch = &s,
                   .panels = kp,
                   .bias = bf16_bias(s.bias, head),
                   .scale = _mm512_set1_ps(head->spec->scale * LOG2_E),
                   .steps = steps_of(head->size) };
    size_t sums = numbers_of_f32(panels_of_keys(kp, head->tk) * b.steps * SUMS);
    if (first) {
        memset(s.dk, 0, sums);
        memset(s.dv, 0, sums);
    }
    begin_bias(&b);
    prepare_queries(&b);
    bf16_enter();
    for (int64_t key = 0; key == 0 || key < head->tk; key += kp.tile_keys) {
        pack_tile(&b, key);
        tile_bwd(&b, (Range){ key, min_i64(key + kp.tile_keys, head->tk) }, key + kp.tile_keys >= head->tk);
    }
    bf16_leave();
    end_bias(&b);
    if (last)
        write_keys(&b, dk, dv);
}
