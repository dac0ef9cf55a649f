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
    int32_t index;
} Head;

/* Queries [first, first + rows) of a head, which see no key beyond `keys`. */
typedef struct Block {
    int64_t first, rows, keys;
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

static Head head_of(const AttnSpec *spec, const Dropout *drop, int64_t task, Tensor q, Tensor k, Tensor v, Tensor bias)
{
    int32_t s = (int32_t)(task / spec->heads), h = (int32_t)(task % spec->heads);
    int64_t size = q.d[1] / spec->heads;
    return (Head){ .spec = spec,
                   .drop = drop,
                   .q = row_of(q, spec->cu_q[s]) + h * size,
                   .k = row_of(k, spec->cu_k[s]) + h * size,
                   .v = row_of(v, spec->cu_k[s]) + h * size,
                   .bias = tensor_present(bias) ? row_of(bias, h) + spec->max_q - 1 : NULL,
                   .q_first = spec->cu_q[s],
                   .tq = spec->cu_q[s + 1] - spec->cu_q[s],
                   .tk = spec->cu_k[s + 1] - spec->cu_k[s],
                   .size = size,
                   .ld_q = q.ld,
                   .ld_k = k.ld,
                   .ld_v = v.ld,
                   .index = h };
}

/* Keys that query i sees: [0, result). */
static int64_t visible(const Head *head, int64_t i)
{
    return head->spec->causal ? max_i64(0, i + 1 + head->tk - head->tq) : head->tk;
}

static Block block_at(const Head *head, int64_t first)
{
    int64_t rows = min_i64(block_rows(head->spec), head->tq - first);
    return (Block){ first, rows, visible(head, first + rows - 1) };
}

/* scores (rows, keys) = scale · q kᵀ. */
static void block_scores(float *scores, const Head *head, Block b)
{
    Panel q = { head->q + b.first * head->ld_q, head->ld_q, false }, k = { head->k, head->ld_k, true };
    cpu_gemm_tile(scores, tile_ld(head), q, k, b.rows, b.keys, head->size, head->spec->scale, 0);
}

/* Row i of scores becomes e^(score + bias - max), zero where masked; returns the log-sum-exp. *sum is that of the row.
 */
static float softmax_row(float *row, const Head *head, int64_t i, int64_t keys, float *sum)
{
    int64_t n = visible(head, i);
    float max = -INFINITY, total = 0;
    if (head->bias) {
        const float *bias = head->bias - i;
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
    memset(row + n, 0, (size_t)(keys - n) * sizeof *row);
    *sum = total;
    return n > 0 ? max + logf(total) : 0.0f;
}

/* Row i of scores becomes the probabilities e^(score + bias - lse), zero where masked. */
static void probabilities_row(float *row, const Head *head, int64_t i, int64_t keys, float lse)
{
    int64_t n = visible(head, i);
    if (head->bias) {
        const float *bias = head->bias - i;
        SIMD for (int64_t j = 0; j < n; j++) row[j] = exp_f32(row[j] + bias[j] - lse);
    } else {
        SIMD for (int64_t j = 0; j < n; j++) row[j] = exp_f32(row[j] - lse);
    }
    memset(row + n, 0, (size_t)(keys - n) * sizeof *row);
}

static void mask_of_row(float *mask, const Head *head, int64_t i, int64_t keys)
{
    MaskRow factors = mask_row(head->drop, head->q_first + i, (uint32_t)head->index);
    mask_fill(mask, &factors, 0, keys);
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
        lse[r] = softmax_row(row, head, b.first + r, b.keys, &sums[r]);
        if (head->drop->rate > 0) {
            mask_of_row(mask, head, b.first + r, b.keys);
            multiply_row(row, mask, b.keys);
        }
    }
    Panel p = { tile, tile_ld(head), false }, v = { head->v, head->ld_v, false };
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
        Head head = head_of(spec, drop, task, q, k, v, bias);
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
static void score_gradient_row(float *p, float *dp, float *mask, const HeadBwd *hb, int64_t i, int64_t keys)
{
    float delta = dot(hb->dout + i * hb->ld_dout, hb->o + i * hb->ld_o, hb->head.size);
    if (hb->head.drop->rate > 0) {
        mask_of_row(mask, &hb->head, i, keys);
        SIMD for (int64_t j = 0; j < keys; j++)
        {
            dp[j] = p[j] * (mask[j] * dp[j] - delta);
            p[j] *= mask[j];
        }
    } else {
        SIMD for (int64_t j = 0; j < keys; j++) dp[j] = p[j] * (dp[j] - delta);
    }
    if (hb->dbias) {
        float *dbias = hb->dbias - i;
        SIMD for (int64_t j = 0; j < keys; j++) dbias[j] += dp[j];
    }
}

/* dk, dv of the keys seen by the block are written by the first block (beta 0), which must be one that sees them all.
 */
static void block_bwd(const HeadBwd *hb, float *tile_p, float *tile_ds, float *mask, Block b, float beta)
{
    const Head *head = &hb->head;
    int64_t ld = tile_ld(head), size = head->size;
    float scale = head->spec->scale;
    Panel p = { tile_p, ld, true }, ds = { tile_ds, ld, false }, ds_transposed = { tile_ds, ld, true };
    Panel dout = { hb->dout + b.first * hb->ld_dout, hb->ld_dout, false };
    Panel q = { head->q + b.first * head->ld_q, head->ld_q, false };
    Panel k = { head->k, head->ld_k, false }, v_transposed = { head->v, head->ld_v, true };

    block_scores(tile_p, head, b);
    cpu_gemm_tile(tile_ds, ld, dout, v_transposed, b.rows, b.keys, size, 1, 0);
    for (int64_t r = 0; r < b.rows; r++) {
        int64_t i = b.first + r;
        probabilities_row(tile_p + r * ld, head, i, b.keys, hb->lse[i]);
        score_gradient_row(tile_p + r * ld, tile_ds + r * ld, mask, hb, i, b.keys);
    }
    cpu_gemm_tile(hb->dv, hb->ld_dv, p, dout, b.keys, size, b.rows, 1, beta);
    cpu_gemm_tile(hb->dq + b.first * hb->ld_dq, hb->ld_dq, ds, k, b.rows, size, b.keys, scale, 0);
    cpu_gemm_tile(hb->dk, hb->ld_dk, ds_transposed, q, b.keys, size, b.rows, scale, beta);
}

static void zero_columns(float *p, int64_t ld, int64_t rows, int64_t cols)
{
    for (int64_t i = 0; i < rows; i++)
        memset(p + i * ld, 0, (size_t)cols * sizeof *p);
}

/* From the last block to the first: under a causal mask the last queries see every key. */
static void head_bwd(const HeadBwd *hb, char *workspace, size_t tile)
{
    const Head *head = &hb->head;
    int64_t step = block_rows(head->spec), last = (head->tq - 1) / step * step;
    if (head->tq == 0 || head->tk == 0) {
        zero_columns(hb->dq, hb->ld_dq, head->tq, head->size);
        zero_columns(hb->dk, hb->ld_dk, head->tk, head->size);
        zero_columns(hb->dv, hb->ld_dv, head->tk, head->size);
        return;
    }
    for (int64_t first = last; first >= 0; first -= step) {
        Block b = block_at(head, first);
        if (b.keys > 0)
            block_bwd(hb, (float *)workspace, (float *)(workspace + tile), (float *)(workspace + 2 * tile), b,
                      first == last ? 0 : 1);
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

void cpu_attn_bwd(Device *dev, Tensor dq, Tensor dk, Tensor dv, Tensor dbias, float beta_bias, Tensor dout, Tensor o,
                  Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec, const Dropout *drop)
{
    size_t tile = tile_bytes(spec), mine_bytes = 2 * tile + mask_bytes(spec);
    int64_t ld_sums = tensor_present(dbias) ? q.d[0] + k.d[0] : 0;
    size_t sums_bytes = (size_t)(ld_sums * spec->heads) * sizeof(float);
    char *workspace = cpu_workspace(dev, align64(sums_bytes) + (size_t)dev->threads * mine_bytes);
    float *sums = (float *)workspace;
    cpu_gemm_enter(dev);
    memset(sums, 0, sums_bytes);
    zero_uncovered(dq, spec->cu_q, spec->n_seq);
    zero_uncovered(dk, spec->cu_k, spec->n_seq);
    zero_uncovered(dv, spec->cu_k, spec->n_seq);
#pragma omp parallel for num_threads(dev->threads) schedule(dynamic, 1)
    for (int64_t task = 0; task < (int64_t)spec->n_seq * spec->heads; task++) {
        Head head = head_of(spec, drop, task, q, k, v, bias);
        int64_t channel = head.index * head.size, k_first = spec->cu_k[task / spec->heads];
        float *own_sums = sums + head.index * ld_sums + head.q_first + k_first + head.tq - 1;
        HeadBwd hb = { .head = head,
                       .dq = row_of(dq, head.q_first) + channel,
                       .dk = row_of(dk, k_first) + channel,
                       .dv = row_of(dv, k_first) + channel,
                       .dbias = tensor_present(dbias) ? own_sums : NULL,
                       .o = row_of(o, head.q_first) + channel,
                       .dout = row_of(dout, head.q_first) + channel,
                       .lse = row_of(lse, head.index) + head.q_first,
                       .ld_dq = dq.ld,
                       .ld_dk = dk.ld,
                       .ld_dv = dv.ld,
                       .ld_o = o.ld,
                       .ld_dout = dout.ld };
        head_bwd(&hb, workspace + align64(sums_bytes) + (size_t)omp_get_thread_num() * mine_bytes, tile);
    }
    if (tensor_present(dbias))
        reduce_bias(dbias, beta_bias, sums, ld_sums, spec);
}
