/* attention.c: a block of queries of one head against the keys of their sequence at a time. Scores exist only as such
 * tiles, in the second-level cache, and are computed again in backward from the saved log-sum-exp. */
#include "device/cpu/kernels/head.h"
#include "device/cpu/kernels/mask.h"

#include <math.h>

/* Keys [begin, begin + keys), their scores from `column` of a tile on; begin is a multiple of 4. */
typedef struct Run {
    int64_t begin, keys, column;
} Run;

/* Queries [first, first + rows) of a head. They attend to no key outside the runs, whose scores fill `columns` of a
 * tile. */
typedef struct Block {
    int64_t first, rows, columns;
    const Run *runs;
    int n_runs;
} Block;

enum { TILE = 65536, MAX_BLOCK = 128, MIN_BLOCK = 16 };

static int64_t block_rows(const AttnSpec *spec)
{
    int64_t rows = min_i64(max_i64(TILE / spec->max_k, MIN_BLOCK), min_i64(MAX_BLOCK, spec->max_q));
    return spec->layout ? min_i64(rows, spec->layout->size) : rows;
}

/* Scratch memory of a thread. */
typedef struct Desk {
    float *tile, *gradients; /* of scores */
    float *mask;
    Run *runs;
} Desk;

static size_t tile_bytes(const AttnSpec *spec)
{
    return align64((size_t)block_rows(spec) * (size_t)(spec->max_k + 3) * sizeof(float));
}

static size_t mask_bytes(const AttnSpec *spec)
{
    return align64((size_t)(spec->max_k + MASK_STEP) * sizeof(float));
}

static size_t runs_bytes(const AttnSpec *spec)
{
    return align64(sizeof(Run) * (size_t)(spec->layout ? spec->max_k / spec->layout->size + 1 : 1));
}

static size_t desk_bytes(const AttnSpec *spec, int tiles)
{
    return (size_t)tiles * tile_bytes(spec) + mask_bytes(spec) + runs_bytes(spec);
}

static Desk desk_at(char *memory, const AttnSpec *spec, int tiles)
{
    char *mask = memory + (size_t)tiles * tile_bytes(spec);
    return (Desk){ .tile = (float *)memory,
                   .gradients = (float *)(memory + tile_bytes(spec)),
                   .mask = (float *)mask,
                   .runs = (Run *)(mask + mask_bytes(spec)) };
}

static int64_t tile_ld(const Head *head)
{
    return (head->tk + 3) / 4 * 4;
}

/* The visible keys of a run, counted from its first key. */
static Range visible_of(Range range, const Run *run)
{
    int64_t begin = min_i64(max_i64(range.begin - run->begin, 0), run->keys);
    return (Range){ begin, max_i64(min_i64(range.end - run->begin, run->keys), begin) };
}

/* The keys of [begin, end) join the block's last run where they follow it. */
static void add_run(Block *b, Run *runs, int64_t begin, int64_t end)
{
    Run *last = b->n_runs ? &runs[b->n_runs - 1] : NULL;
    if (end <= begin)
        return;
    if (last && last->begin + last->keys == begin)
        last->keys += end - begin;
    else
        runs[b->n_runs++] = (Run){ begin, end - begin, b->columns };
    b->columns += end - begin;
}

static void add_layout_runs(Block *b, Run *runs, const Head *head, Range seen)
{
    const BlockLayout *layout = head->spec->layout;
    const int32_t *first = layout->first.device + attn_layout_row(layout, head->number, b->first + head->tk - head->tq);
    for (int32_t k = first[0]; k < first[1]; k++) {
        int64_t begin = (int64_t)layout->keys.device[k] * layout->size;
        add_run(b, runs, max_i64(begin, seen.begin), min_i64(begin + layout->size, seen.end));
    }
}

/* The queries from `first` on, up to the end of a block of the layout. */
static Block block_at(const Head *head, int64_t first, Run *runs)
{
    const BlockLayout *layout = head->spec->layout;
    int64_t rows = min_i64(block_rows(head->spec), head->tq - first);
    if (layout)
        rows = min_i64(rows, layout->size - (first + head->tk - head->tq) % layout->size);
    Block b = { .first = first, .rows = rows, .runs = runs };
    Range seen = { visible(head, first).begin / 4 * 4, visible(head, first + rows - 1).end };
    if (layout)
        add_layout_runs(&b, runs, head, seen);
    else
        add_run(&b, runs, seen.begin, seen.end);
    return b;
}

static void scale_row(float *row, float factor, int64_t n)
{
    SIMD for (int64_t c = 0; c < n; c++) row[c] *= factor;
}

/* scores (rows, columns) = scale · q kᵀ. */
static void block_scores(float *scores, const Head *head, Block b)
{
    float rescale = head->spec->rescale, scale = head->spec->scale / (rescale > 0 ? rescale : 1);
    Panel q = { head->q + b.first * head->ld_q, head->ld_q, false };
    for (const Run *run = b.runs; run < b.runs + b.n_runs; run++) {
        Panel k = { head->k + run->begin * head->ld_k, head->ld_k, true };
        cpu_gemm_tile(scores + run->column, tile_ld(head), q, k, b.rows, run->keys, head->size, scale, 0);
    }
    for (int64_t r = 0; rescale > 0 && r < b.rows; r++)
        scale_row(scores + r * tile_ld(head), rescale, b.columns);
}

/* Scores outside the visible keys of a row become zero. */
static void mask_outside(float *row, Range seen, int64_t keys)
{
    memset(row, 0, (size_t)seen.begin * sizeof *row);
    memset(row + seen.end, 0, (size_t)(keys - seen.end) * sizeof *row);
}

/* Adds bias[j], where there is one, to n scores; returns the largest. */
static float biased_max(float *scores, const float *bias, int64_t n)
{
    float max = -INFINITY;
    if (!bias) {
#pragma omp simd reduction(max : max)
        for (int64_t j = 0; j < n; j++)
            max = scores[j] > max ? scores[j] : max;
        return max;
    }
#pragma omp simd reduction(max : max)
    for (int64_t j = 0; j < n; j++) {
        float score = scores[j] + bias[j];
        scores[j] = score;
        max = score > max ? score : max;
    }
    return max;
}

static float exponentials(float *scores, float max, int64_t n)
{
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t j = 0; j < n; j++) {
        float term = exp_f32(scores[j] - max);
        scores[j] = term;
        total += term;
    }
    return total;
}

/* The biases of the keys from `key` on for query i. */
static const float *bias_from(const Head *head, int64_t i, int64_t key)
{
    return head->bias ? head->bias - i + key : NULL;
}

/* Row i of scores becomes e^(score + bias - max), zero where masked; returns the log-sum-exp. *sum is that of the row.
 */
static float softmax_row(float *row, const Head *head, Block b, int64_t i, float *sum)
{
    Range range = visible(head, i);
    float max = -INFINITY, total = 0;
    for (const Run *run = b.runs; run < b.runs + b.n_runs; run++) {
        Range seen = visible_of(range, run);
        float *scores = row + run->column;
        mask_outside(scores, seen, run->keys);
        float most =
            biased_max(scores + seen.begin, bias_from(head, i, run->begin + seen.begin), seen.end - seen.begin);
        max = most > max ? most : max;
    }
    for (const Run *run = b.runs; run < b.runs + b.n_runs; run++) {
        Range seen = visible_of(range, run);
        total += exponentials(row + run->column + seen.begin, max, seen.end - seen.begin);
    }
    *sum = total;
    return total > 0 ? max + logf(total) : 0.0f;
}

/* Row i of scores becomes the probabilities e^(score + bias - lse), zero where masked. */
static void probabilities_row(float *row, const Head *head, Block b, int64_t i, float lse)
{
    Range range = visible(head, i);
    for (const Run *run = b.runs; run < b.runs + b.n_runs; run++) {
        Range seen = visible_of(range, run);
        const float *bias = bias_from(head, i, run->begin + seen.begin);
        float *scores = row + run->column;
        int64_t n = seen.end - seen.begin;
        mask_outside(scores, seen, run->keys);
        scores += seen.begin;
        if (bias) {
            SIMD for (int64_t j = 0; j < n; j++) scores[j] = exp_f32(scores[j] + bias[j] - lse);
        } else {
            SIMD for (int64_t j = 0; j < n; j++) scores[j] = exp_f32(scores[j] - lse);
        }
    }
}

/* A run's factors may be followed by up to MASK_STEP more, which the next run overwrites. */
static void mask_of_row(float *mask, const Head *head, Block b, int64_t i)
{
    MaskRow factors = mask_row(head->drop, head->q_first + i, (uint32_t)head->number);
    for (const Run *run = b.runs; run < b.runs + b.n_runs; run++)
        mask_fill(mask + run->column, &factors, run->begin, run->keys);
}

static void add_row(float *row, const float *terms, int64_t n)
{
    SIMD for (int64_t j = 0; j < n; j++) row[j] += terms[j];
}

static void multiply_row(float *row, const float *factors, int64_t n)
{
    SIMD for (int64_t j = 0; j < n; j++) row[j] *= factors[j];
}

static void block_fwd(float *o, int64_t ld_o, float *lse, const Desk *desk, const Head *head, Block b)
{
    float sums[MAX_BLOCK];
    block_scores(desk->tile, head, b);
    for (int64_t r = 0; r < b.rows; r++) {
        float *row = desk->tile + r * tile_ld(head);
        lse[r] = softmax_row(row, head, b, b.first + r, &sums[r]);
        if (head->drop->rate > 0) {
            mask_of_row(desk->mask, head, b, b.first + r);
            multiply_row(row, desk->mask, b.columns);
        }
    }
    for (const Run *run = b.runs; run < b.runs + b.n_runs; run++) {
        Panel p = { desk->tile + run->column, tile_ld(head), false };
        Panel v = { head->v + run->begin * head->ld_v, head->ld_v, false };
        cpu_gemm_tile(o, ld_o, p, v, b.rows, head->size, run->keys, 1, run == b.runs ? 0 : 1);
    }
    for (int64_t r = 0; r < b.rows; r++)
        scale_row(o + r * ld_o, sums[r] > 0 ? 1 / sums[r] : 0, head->size);
}

static void zero_rows(Tensor t, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        memset(row_of(t, i), 0, (size_t)t.d[1] * sizeof(float));
}

/* Rows that no sequence covers. */
static void zero_uncovered(Tensor t, const int32_t *cu, int32_t n_seq)
{
    zero_rows(t, 0, cu[0]);
    zero_rows(t, cu[n_seq], t.d[0]);
}

static void zero_columns(float *p, int64_t ld, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++)
        memset(p + i * ld, 0, (size_t)cols * sizeof *p);
}

/* o of all queries of a head; log_sums (tq). */
static void head_fwd(float *o, int64_t ld_o, float *log_sums, const Desk *desk, const Head *head)
{
    for (int64_t first = 0; first < head->tq;) {
        Block b = block_at(head, first, desk->runs);
        if (b.columns > 0) {
            block_fwd(o + first * ld_o, ld_o, log_sums + first, desk, head, b);
        } else {
            zero_columns(o + first * ld_o, ld_o, b.rows, head->size);
            memset(log_sums + first, 0, (size_t)b.rows * sizeof *log_sums);
        }
        first += b.rows;
    }
}

void KERNEL(attn_fwd)(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias,
                      const AttnSpec *spec, const Dropout *drop)
{
    if (spec->distance) {
        cpu_attn_distance_fwd(dev, o, lse, q, k, v, spec, drop);
        return;
    }
    size_t bytes = desk_bytes(spec, 1);
    char *workspace = cpu_workspace(dev, (size_t)dev->threads * bytes);
    cpu_gemm_enter(dev);
    zero_uncovered(o, spec->cu_q.device, spec->n_seq);
    KERNEL(fill)(dev, lse, 0);
#pragma omp parallel for num_threads(dev->threads) schedule(dynamic, 1)
    for (int64_t task = 0; task < (int64_t)spec->n_seq * spec->heads; task++) {
        Desk desk = desk_at(workspace + (size_t)omp_get_thread_num() * bytes, spec, 1);
        Head head = head_of(spec, drop, (int32_t)(task / spec->heads), (int32_t)(task % spec->heads), q, k, v, bias);
        head_fwd(row_of(o, head.q_first) + head.index * head.size, o.ld, row_of(lse, head.index) + head.q_first, &desk,
                 &head);
    }
}

/* Row i: p (columns) becomes p∘mask, dp (columns) becomes ds = p∘(mask∘dp - delta), delta = Σ p∘mask∘dp = dout·o. */
static void score_gradient_row(float *p, float *dp, float *mask, const HeadBwd *hb, Block b, int64_t i)
{
    int64_t n = b.columns;
    float delta = dot(hb->dout + i * hb->ld_dout, hb->o + i * hb->ld_o, hb->head.size);
    if (hb->head.drop->rate > 0) {
        mask_of_row(mask, &hb->head, b, i);
        SIMD for (int64_t j = 0; j < n; j++)
        {
            dp[j] = p[j] * (mask[j] * dp[j] - delta);
            p[j] *= mask[j];
        }
    } else {
        SIMD for (int64_t j = 0; j < n; j++) dp[j] = p[j] * (dp[j] - delta);
    }
    if (hb->dbias)
        for (const Run *run = b.runs; run < b.runs + b.n_runs; run++)
            add_row(hb->dbias - i + run->begin, dp + run->column, run->keys);
}

/* A run's share of a block's gradients, from the probabilities and the gradients of its scores. `first`: dq is written,
 * else added to; beta is that of dk and dv. */
static void run_bwd(const HeadBwd *hb, const Desk *desk, Block b, const Run *run, bool first, float beta)
{
    const Head *head = &hb->head;
    int64_t ld = tile_ld(head), size = head->size, keys = run->keys;
    float scale = head->spec->scale;
    float *tile = desk->tile + run->column, *gradients = desk->gradients + run->column;
    Panel p = { tile, ld, true }, ds = { gradients, ld, false }, ds_transposed = { gradients, ld, true };
    Panel dout = { hb->dout + b.first * hb->ld_dout, hb->ld_dout, false };
    Panel q = { head->q + b.first * head->ld_q, head->ld_q, false };
    Panel k = { head->k + run->begin * head->ld_k, head->ld_k, false };
    float *dq = hb->dq + b.first * hb->ld_dq;
    float *dk = hb->dk + run->begin * hb->ld_dk, *dv = hb->dv + run->begin * hb->ld_dv;

    cpu_gemm_tile(dv, hb->ld_dv, p, dout, keys, size, b.rows, 1, beta);
    cpu_gemm_tile(dq, hb->ld_dq, ds, k, b.rows, size, keys, scale, first ? 0 : 1);
    cpu_gemm_tile(dk, hb->ld_dk, ds_transposed, q, keys, size, b.rows, scale, beta);
}

/* beta is that of dk and dv: 0 where no block came before and this one attends to all keys, else 1. */
static void block_bwd(const HeadBwd *hb, const Desk *desk, Block b, float beta)
{
    const Head *head = &hb->head;
    int64_t ld = tile_ld(head);
    Panel dout = { hb->dout + b.first * hb->ld_dout, hb->ld_dout, false };

    block_scores(desk->tile, head, b);
    for (const Run *run = b.runs; run < b.runs + b.n_runs; run++) {
        Panel v = { head->v + run->begin * head->ld_v, head->ld_v, true };
        cpu_gemm_tile(desk->gradients + run->column, ld, dout, v, b.rows, run->keys, head->size, 1, 0);
    }
    for (int64_t r = 0; r < b.rows; r++) {
        int64_t i = b.first + r;
        probabilities_row(desk->tile + r * ld, head, b, i, hb->lse[i]);
        score_gradient_row(desk->tile + r * ld, desk->gradients + r * ld, desk->mask, hb, b, i);
    }
    for (const Run *run = b.runs; run < b.runs + b.n_runs; run++)
        run_bwd(hb, desk, b, run, run == b.runs, beta);
}

/* The first query of the block that ends before `end`: blocks begin where head_fwd has them. */
static int64_t block_before(const Head *head, int64_t end)
{
    const BlockLayout *layout = head->spec->layout;
    int64_t step = block_rows(head->spec);
    if (!layout)
        return (end - 1) / step * step;
    int64_t shift = head->tk - head->tq, begin = max_i64((end - 1 + shift) / layout->size * layout->size - shift, 0);
    return begin + (end - 1 - begin) / step * step;
}

/* From the last block to the first: the last queries attend to every key, causal or not, but for a window or a layout.
 * `first_head`: no head has touched dk and dv yet. */
static void head_bwd(const HeadBwd *hb, const Desk *desk, bool first_head)
{
    const Head *head = &hb->head;
    bool empty = head->tq == 0 || head->tk == 0;
    bool write = first_head && head->spec->window == 0 && !head->spec->layout;
    if (empty)
        zero_columns(hb->dq, hb->ld_dq, head->tq, head->size);
    if (first_head && (empty || !write)) {
        zero_columns(hb->dk, hb->ld_dk, head->tk, head->size);
        zero_columns(hb->dv, hb->ld_dv, head->tk, head->size);
    }
    if (empty)
        return;
    for (int64_t end = head->tq; end > 0;) {
        Block b = block_at(head, block_before(head, end), desk->runs);
        if (b.columns > 0)
            block_bwd(hb, desk, b, write && end == head->tq ? 0 : 1);
        else
            zero_columns(hb->dq + b.first * hb->ld_dq, hb->ld_dq, b.rows, head->size);
        end = b.first;
    }
}

/* dbias = beta·dbias + Σ over sequences, in their order. Each sequence's sums lie where its rows begin in `sums` (H, Nq
 * + Nk) and start with that of j - i = 1 - Tq. */
static void reduce_bias(Tensor dbias, float beta, const float *sums, int64_t ld, const AttnSpec *spec)
{
    for (int32_t h = 0; h < spec->heads; h++) {
        float *d = row_of(dbias, h);
        if (beta == 0.0f)
            memset(d, 0, (size_t)dbias.d[1] * sizeof *d);
        else
            scale_row(d, beta, dbias.d[1]);
        for (int32_t s = 0; s < spec->n_seq; s++) {
            int64_t tq = spec->cu_q.device[s + 1] - spec->cu_q.device[s],
                    tk = spec->cu_k.device[s + 1] - spec->cu_k.device[s];
            const float *from = sums + h * ld + spec->cu_q.device[s] + spec->cu_k.device[s];
            float *to = d + spec->max_q - tq;
            SIMD for (int64_t t = 0; t < tq + tk - 1; t++) to[t] += from[t];
        }
    }
}

/* A task is a head of keys with all its heads of queries: they add to the same dk and dv. */
void KERNEL(attn_bwd)(Device *dev, Tensor dq, Tensor dk, Tensor dv, Tensor dbias, float beta_bias, Tensor dout,
                      Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec,
                      const Dropout *drop)
{
    const Bwd tensors = { dq, dk, dv, dbias, dout, o, lse, q, k, v, bias, spec, drop };
    if (spec->distance) {
        cpu_attn_distance_bwd(dev, &tensors);
        return;
    }
    size_t bytes = desk_bytes(spec, 2);
    int64_t ld_sums = tensor_present(dbias) ? q.d[0] + k.d[0] : 0;
    size_t sums_bytes = (size_t)(ld_sums * spec->heads) * sizeof(float);
    char *workspace = cpu_workspace(dev, align64(sums_bytes) + (size_t)dev->threads * bytes);
    float *sums = (float *)workspace; /* see reduce_bias */
    int32_t kv_heads = attn_kv_heads(spec), group = spec->heads / kv_heads;
    cpu_gemm_enter(dev);
    memset(sums, 0, sums_bytes);
    zero_uncovered(dq, spec->cu_q.device, spec->n_seq);
    zero_uncovered(dk, spec->cu_k.device, spec->n_seq);
    zero_uncovered(dv, spec->cu_k.device, spec->n_seq);
#pragma omp parallel for num_threads(dev->threads) schedule(dynamic, 1)
    for (int64_t task = 0; task < (int64_t)spec->n_seq * kv_heads; task++) {
        char *mine = workspace + align64(sums_bytes) + (size_t)omp_get_thread_num() * bytes;
        Desk desk = desk_at(mine, spec, 2);
        int32_t s = (int32_t)(task / kv_heads);
        for (int32_t g = 0; g < group; g++) {
            HeadBwd hb = head_bwd_of(&tensors, s, (int32_t)(task % kv_heads) * group + g);
            if (tensor_present(dbias))
                hb.dbias = sums + hb.head.index * ld_sums + hb.head.q_first + spec->cu_k.device[s] + hb.head.tq - 1;
            head_bwd(&hb, &desk, g == 0);
        }
    }
    if (tensor_present(dbias))
        reduce_bias(dbias, beta_bias, sums, ld_sums, spec);
}
