/* attention.c: a block of queries of one head against the keys of their sequence at a time. Scores exist only as such
 * tiles, in the second-level cache, and are computed again in backward from the saved log-sum-exp. */
#include "device/cpu/kernels/kernels.h"
#include "device/cpu/kernels/mask.h"

#include <math.h>
#include <string.h>

/* One head of one sequence. */
typedef struct Head {
    const AttnSpec *spec;
    const Dropout *drop;
    const float *q, *k, *v;
    const float *bias; /* bias[j - i] for key j and query i; NULL: none */
    int64_t q_first, tq, tk, size, ld_q, ld_k, ld_v;
    int32_t sequence, index;
} Head;

/* Queries [first, first + rows) of a head, which see no key outside [begin, begin + keys); begin is a multiple of 4. */
typedef struct Block {
    int64_t first, rows, begin, keys;
} Block;

enum { TILE = 65536, MAX_BLOCK = 128, MIN_BLOCK = 16 };

static int64_t block_rows(const AttnSpec *spec)
{
    return min_i64(max_i64(TILE / spec->max_k, MIN_BLOCK), min_i64(MAX_BLOCK, spec->max_q));
}

static size_t tile_bytes(const AttnSpec *spec)
{
    return align64((size_t)block_rows(spec) * (size_t)(spec->max_k + 3) * sizeof(float));
}

static size_t mask_bytes(const AttnSpec *spec)
{
    return align64((size_t)(spec->max_k + MASK_STEP) * sizeof(float));
}

static int64_t tile_ld(const Head *head)
{
    return (head->tk + 3) / 4 * 4;
}

/* Head h of sequence s. */
static Head head_of(const AttnSpec *spec, const Dropout *drop, int32_t s, int32_t h, Tensor q, Tensor k, Tensor v,
                    Tensor bias)
{
    int64_t size = q.d[1] / spec->heads, kv_channel = h / (spec->heads / attn_kv_heads(spec)) * size;
    return (Head){ .spec = spec,
                   .drop = drop,
                   .q = row_of(q, spec->cu_q[s]) + h * size,
                   .k = row_of(k, spec->cu_k[s]) + kv_channel,
                   .v = row_of(v, spec->cu_k[s]) + kv_channel,
                   .bias = tensor_present(bias) ? row_of(bias, h) + spec->max_q - 1 : NULL,
                   .q_first = spec->cu_q[s],
                   .tq = spec->cu_q[s + 1] - spec->cu_q[s],
                   .tk = spec->cu_k[s + 1] - spec->cu_k[s],
                   .size = size,
                   .ld_q = q.ld,
                   .ld_k = k.ld,
                   .ld_v = v.ld,
                   .sequence = s,
                   .index = h };
}

/* Keys that query i sees, counted from the first of its block. */
static Range visible(const Head *head, Block b, int64_t i)
{
    Range range;
    attn_visible(head->spec, head->sequence, i, &range.begin, &range.end);
    return (Range){ range.begin - b.begin, range.end - b.begin };
}

static Block block_at(const Head *head, int64_t first)
{
    Block b = { .first = first, .rows = min_i64(block_rows(head->spec), head->tq - first) };
    int64_t begin = visible(head, b, first).begin / 4 * 4, end = visible(head, b, first + b.rows - 1).end;
    b.begin = begin;
    b.keys = max_i64(0, end - begin);
    return b;
}

/* scores (rows, keys) = scale · q kᵀ. */
static void block_scores(float *scores, const Head *head, Block b)
{
    Panel q = { head->q + b.first * head->ld_q, head->ld_q, false };
    Panel k = { head->k + b.begin * head->ld_k, head->ld_k, true };
    cpu_gemm_tile(scores, tile_ld(head), q, k, b.rows, b.keys, head->size, head->spec->scale, 0);
}

/* Scores of keys that a row does not see become zero. */
static void mask_outside(float *row, Range seen, int64_t keys)
{
    memset(row, 0, (size_t)seen.begin * sizeof *row);
    memset(row + seen.end, 0, (size_t)(keys - seen.end) * sizeof *row);
}

/* Row i of scores becomes e^(score + bias - max), zero where masked; returns the log-sum-exp. *sum is that of the row.
 */
static float softmax_row(float *row, const Head *head, Block b, int64_t i, float *sum)
{
    Range seen = visible(head, b, i);
    int64_t n = seen.end - seen.begin;
    float max = -INFINITY, total = 0;
    mask_outside(row, seen, b.keys);
    row += seen.begin;
    if (head->bias) {
        const float *bias = head->bias - i + b.begin + seen.begin;
#pragma omp simd reduction(max : max)
        for (int64_t j = 0; j < n; j++) {
            float score = row[j] + bias[j];
            row[j] = score;
            max = score > max ? score : max;
        }
    } else {
#pragma omp simd reduction(max : max)
        for (int64_t j = 0; j < n; j++)
            max = row[j] > max ? row[j] : max;
    }
#pragma omp simd reduction(+ : total)
    for (int64_t j = 0; j < n; j++) {
        float term = exp_f32(row[j] - max);
        row[j] = term;
        total += term;
    }
    *sum = total;
    return n > 0 ? max + logf(total) : 0.0f;
}

/* Row i of scores becomes the probabilities e^(score + bias - lse), zero where masked. */
static void probabilities_row(float *row, const Head *head, Block b, int64_t i, float lse)
{
    Range seen = visible(head, b, i);
    int64_t n = seen.end - seen.begin;
    mask_outside(row, seen, b.keys);
    row += seen.begin;
    if (head->bias) {
        const float *bias = head->bias - i + b.begin + seen.begin;
        SIMD for (int64_t j = 0; j < n; j++) row[j] = exp_f32(row[j] + bias[j] - lse);
    } else {
        SIMD for (int64_t j = 0; j < n; j++) row[j] = exp_f32(row[j] - lse);
    }
}

static void mask_of_row(float *mask, const Head *head, Block b, int64_t i)
{
    MaskRow factors = mask_row(head->drop, head->q_first + i, (uint32_t)head->index);
    mask_fill(mask, &factors, b.begin, b.keys);
}

static void scale_row(float *row, float factor, int64_t n)
{
    SIMD for (int64_t c = 0; c < n; c++) row[c] *= factor;
}

static void multiply_row(float *row, const float *factors, int64_t n)
{
    SIMD for (int64_t j = 0; j < n; j++) row[j] *= factors[j];
}

static void block_fwd(float *o, int64_t ld_o, float *lse, float *tile, float *mask, const Head *head, Block b)
{
    float sums[MAX_BLOCK];
    block_scores(tile, head, b);
    for (int64_t r = 0; r < b.rows; r++) {
        float *row = tile + r * tile_ld(head);
        lse[r] = softmax_row(row, head, b, b.first + r, &sums[r]);
        if (head->drop->rate > 0) {
            mask_of_row(mask, head, b, b.first + r);
            multiply_row(row, mask, b.keys);
        }
    }
    Panel p = { tile, tile_ld(head), false }, v = { head->v + b.begin * head->ld_v, head->ld_v, false };
    cpu_gemm_tile(o, ld_o, p, v, b.rows, head->size, b.keys, 1, 0);
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

void cpu_attn_fwd(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec,
                  const Dropout *drop)
{
    size_t tile = tile_bytes(spec), mask = mask_bytes(spec);
    char *workspace = cpu_workspace(dev, (size_t)dev->threads * (tile + mask));
    cpu_gemm_enter(dev);
    zero_uncovered(o, spec->cu_q, spec->n_seq);
    cpu_fill(dev, lse, 0);
#pragma omp parallel for num_threads(dev->threads) schedule(dynamic, 1)
    for (int64_t task = 0; task < (int64_t)spec->n_seq * spec->heads; task++) {
        char *mine = workspace + (size_t)omp_get_thread_num() * (tile + mask);
        Head head = head_of(spec, drop, (int32_t)(task / spec->heads), (int32_t)(task % spec->heads), q, k, v, bias);
        float *out = row_of(o, head.q_first) + head.index * head.size,
              *log_sums = row_of(lse, head.index) + head.q_first;
        for (int64_t first = 0; first < head.tq; first += block_rows(spec)) {
            Block b = block_at(&head, first);
            if (b.keys > 0)
                block_fwd(out + first * o.ld, o.ld, log_sums + first, (float *)mine, (float *)(mine + tile), &head, b);
            else
                for (int64_t i = first; i < first + b.rows; i++) {
                    memset(out + i * o.ld, 0, (size_t)head.size * sizeof(float));
                    log_sums[i] = 0;
                }
        }
    }
}

/* What backward adds to a Head: rows of this head in each tensor, and this sequence's share of the bias's gradient. */
typedef struct HeadBwd {
    Head head;
    float *dq, *dk, *dv, *dbias; /* dbias[j - i], summed over this sequence; NULL: not wanted */
    const float *o, *dout, *lse;
    int64_t ld_dq, ld_dk, ld_dv, ld_o, ld_dout;
} HeadBwd;

static float dot(const float *a, const float *b, int64_t n)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < n; c++)
        sum += a[c] * b[c];
    return sum;
}

/* Row i: p (keys) becomes p∘mask, dp (keys) becomes ds = p∘(mask∘dp - delta), delta = Σ p∘mask∘dp = dout·o. */
static void score_gradient_row(float *p, float *dp, float *mask, const HeadBwd *hb, Block b, int64_t i)
{
    int64_t keys = b.keys;
    float delta = dot(hb->dout + i * hb->ld_dout, hb->o + i * hb->ld_o, hb->head.size);
    if (hb->head.drop->rate > 0) {
        mask_of_row(mask, &hb->head, b, i);
        SIMD for (int64_t j = 0; j < keys; j++)
        {
            dp[j] = p[j] * (mask[j] * dp[j] - delta);
            p[j] *= mask[j];
        }
    } else {
        SIMD for (int64_t j = 0; j < keys; j++) dp[j] = p[j] * (dp[j] - delta);
    }
    if (hb->dbias) {
        float *dbias = hb->dbias - i + b.begin;
        SIMD for (int64_t j = 0; j < keys; j++) dbias[j] += dp[j];
    }
}

/* dk, dv of the keys seen by the block are written with beta 0 by a first block that sees them all, else added to. */
static void block_bwd(const HeadBwd *hb, float *tile_p, float *tile_ds, float *mask, Block b, float beta)
{
    const Head *head = &hb->head;
    int64_t ld = tile_ld(head), size = head->size;
    float scale = head->spec->scale;
    Panel p = { tile_p, ld, true }, ds = { tile_ds, ld, false }, ds_transposed = { tile_ds, ld, true };
    Panel dout = { hb->dout + b.first * hb->ld_dout, hb->ld_dout, false };
    Panel q = { head->q + b.first * head->ld_q, head->ld_q, false };
    Panel k = { head->k + b.begin * head->ld_k, head->ld_k, false };
    Panel v_transposed = { head->v + b.begin * head->ld_v, head->ld_v, true };
    float *dk = hb->dk + b.begin * hb->ld_dk, *dv = hb->dv + b.begin * hb->ld_dv;

    block_scores(tile_p, head, b);
    cpu_gemm_tile(tile_ds, ld, dout, v_transposed, b.rows, b.keys, size, 1, 0);
    for (int64_t r = 0; r < b.rows; r++) {
        int64_t i = b.first + r;
        probabilities_row(tile_p + r * ld, head, b, i, hb->lse[i]);
        score_gradient_row(tile_p + r * ld, tile_ds + r * ld, mask, hb, b, i);
    }
    cpu_gemm_tile(dv, hb->ld_dv, p, dout, b.keys, size, b.rows, 1, beta);
    cpu_gemm_tile(hb->dq + b.first * hb->ld_dq, hb->ld_dq, ds, k, b.rows, size, b.keys, scale, 0);
    cpu_gemm_tile(dk, hb->ld_dk, ds_transposed, q, b.keys, size, b.rows, scale, beta);
}

static void zero_columns(float *p, int64_t ld, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++)
        memset(p + i * ld, 0, (size_t)cols * sizeof *p);
}

/* From the last block to the first: under a causal mask the last queries see every key, but not in a window.
 * `first_head`: no head has touched dk and dv yet. */
static void head_bwd(const HeadBwd *hb, char *workspace, size_t tile, bool first_head)
{
    const Head *head = &hb->head;
    int64_t step = block_rows(head->spec), last = (head->tq - 1) / step * step;
    bool empty = head->tq == 0 || head->tk == 0, write = first_head && head->spec->window == 0;
    if (empty)
        zero_columns(hb->dq, hb->ld_dq, head->tq, head->size);
    if (first_head && (empty || !write)) {
        zero_columns(hb->dk, hb->ld_dk, head->tk, head->size);
        zero_columns(hb->dv, hb->ld_dv, head->tk, head->size);
    }
    if (empty)
        return;
    for (int64_t first = last; first >= 0; first -= step) {
        Block b = block_at(head, first);
        if (b.keys > 0)
            block_bwd(hb, (float *)workspace, (float *)(workspace + tile), (float *)(workspace + 2 * tile), b,
                      write && first == last ? 0 : 1);
        else
            zero_columns(hb->dq + first * hb->ld_dq, hb->ld_dq, b.rows, head->size);
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
            int64_t tq = spec->cu_q[s + 1] - spec->cu_q[s], tk = spec->cu_k[s + 1] - spec->cu_k[s];
            const float *from = sums + h * ld + spec->cu_q[s] + spec->cu_k[s];
            float *to = d + spec->max_q - tq;
            SIMD for (int64_t t = 0; t < tq + tk - 1; t++) to[t] += from[t];
        }
    }
}

/* The tensors of cpu_attn_bwd. */
typedef struct Bwd {
    Tensor dq, dk, dv, dbias, dout, o, lse, q, k, v, bias;
    const AttnSpec *spec;
    const Dropout *drop;
    float *sums; /* see reduce_bias */
    int64_t ld_sums;
} Bwd;

static HeadBwd head_bwd_of(const Bwd *t, int32_t s, int32_t h)
{
    Head head = head_of(t->spec, t->drop, s, h, t->q, t->k, t->v, t->bias);
    int64_t channel = h * head.size, k_first = t->spec->cu_k[s];
    int64_t kv_channel = h / (t->spec->heads / attn_kv_heads(t->spec)) * head.size;
    float *own_sums = t->sums + h * t->ld_sums + head.q_first + k_first + head.tq - 1;
    return (HeadBwd){ .head = head,
                      .dq = row_of(t->dq, head.q_first) + channel,
                      .dk = row_of(t->dk, k_first) + kv_channel,
                      .dv = row_of(t->dv, k_first) + kv_channel,
                      .dbias = tensor_present(t->dbias) ? own_sums : NULL,
                      .o = row_of(t->o, head.q_first) + channel,
                      .dout = row_of(t->dout, head.q_first) + channel,
                      .lse = row_of(t->lse, h) + head.q_first,
                      .ld_dq = t->dq.ld,
                      .ld_dk = t->dk.ld,
                      .ld_dv = t->dv.ld,
                      .ld_o = t->o.ld,
                      .ld_dout = t->dout.ld };
}

/* A task is a head of keys with all its heads of queries: they add to the same dk and dv. */
void cpu_attn_bwd(Device *dev, Tensor dq, Tensor dk, Tensor dv, Tensor dbias, float beta_bias, Tensor dout, Tensor o,
                  Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec, const Dropout *drop)
{
    size_t tile = tile_bytes(spec), mine_bytes = 2 * tile + mask_bytes(spec);
    int64_t ld_sums = tensor_present(dbias) ? q.d[0] + k.d[0] : 0;
    size_t sums_bytes = (size_t)(ld_sums * spec->heads) * sizeof(float);
    char *workspace = cpu_workspace(dev, align64(sums_bytes) + (size_t)dev->threads * mine_bytes);
    Bwd tensors = { dq, dk, dv, dbias, dout, o, lse, q, k, v, bias, spec, drop, (float *)workspace, ld_sums };
    int32_t kv_heads = attn_kv_heads(spec), group = spec->heads / kv_heads;
    cpu_gemm_enter(dev);
    memset(tensors.sums, 0, sums_bytes);
    zero_uncovered(dq, spec->cu_q, spec->n_seq);
    zero_uncovered(dk, spec->cu_k, spec->n_seq);
    zero_uncovered(dv, spec->cu_k, spec->n_seq);
#pragma omp parallel for num_threads(dev->threads) schedule(dynamic, 1)
    for (int64_t task = 0; task < (int64_t)spec->n_seq * kv_heads; task++) {
        char *mine = workspace + align64(sums_bytes) + (size_t)omp_get_thread_num() * mine_bytes;
        for (int32_t g = 0; g < group; g++) {
            HeadBwd hb = head_bwd_of(&tensors, (int32_t)(task / kv_heads), (int32_t)(task % kv_heads) * group + g);
            head_bwd(&hb, mine, tile, g == 0);
        }
    }
    if (tensor_present(dbias))
        reduce_bias(dbias, beta_bias, tensors.sums, ld_sums, spec);
}
