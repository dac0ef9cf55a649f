/* distance.c: attention with embeddings of distances in its scores (AttnDistance), a score at a time: few models have
 * them. */
#include "device/cpu/kernels/kernels.h"
#include "device/cpu/kernels/mask.h"

#include <math.h>
#include <string.h>

/* One head of one sequence; the embedding of query i and key j begins at center + (distance of i from j)·ld_e. */
typedef struct Head {
    const AttnSpec *spec;
    const Dropout *drop;
    const float *q, *k, *v, *center;
    int64_t q_first, tq, tk, prefix, size, ld_q, ld_k, ld_v, ld_e;
    int32_t index, number; /* of the head: here, and in the whole layer */
} Head;

/* Scratch memory of a thread. */
typedef struct Desk {
    float *scores, *mask, *dtable;
} Desk;

static size_t row_bytes(const AttnSpec *spec)
{
    return align64((size_t)(spec->max_k + MASK_STEP) * sizeof(float));
}

static size_t table_bytes(const AttnSpec *spec)
{
    return align64((size_t)tensor_count(spec->distance->table) * sizeof(float));
}

static Desk desk_at(char *memory, const AttnSpec *spec)
{
    return (Desk){ .scores = (float *)memory,
                   .mask = (float *)(memory + row_bytes(spec)),
                   .dtable = (float *)(memory + 2 * row_bytes(spec)) };
}

static Head head_of(const AttnSpec *spec, const Dropout *drop, int32_t s, int32_t h, Tensor q, Tensor k, Tensor v)
{
    int64_t size = q.d[1] / spec->heads, kv_channel = h / (spec->heads / attn_kv_heads(spec)) * size;
    Tensor table = spec->distance->table;
    return (Head){ .spec = spec,
                   .drop = drop,
                   .q = row_of(q, spec->cu_q.device[s]) + h * size,
                   .k = row_of(k, spec->cu_k.device[s]) + kv_channel,
                   .v = row_of(v, spec->cu_k.device[s]) + kv_channel,
                   .center = row_of(table, table.d[0] / 2),
                   .q_first = spec->cu_q.device[s],
                   .tq = spec->cu_q.device[s + 1] - spec->cu_q.device[s],
                   .tk = spec->cu_k.device[s + 1] - spec->cu_k.device[s],
                   .prefix = spec->prefix.device ? spec->prefix.device[s] : 0,
                   .size = size,
                   .ld_q = q.ld,
                   .ld_k = k.ld,
                   .ld_v = v.ld,
                   .ld_e = table.ld,
                   .index = h,
                   .number = spec->first_head + h };
}

static int64_t distance_of(const Head *head, int64_t i, int64_t j)
{
    return i + head->tk - head->tq - j;
}

static float dot(const float *a, const float *b, int64_t n)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < n; c++)
        sum += a[c] * b[c];
    return sum;
}

/* q·k + q·e, and k·e with `keys`. */
static float score(const float *q, const float *k, const float *e, bool keys, int64_t n)
{
    float sum = 0;
    if (keys) {
#pragma omp simd reduction(+ : sum)
        for (int64_t c = 0; c < n; c++)
            sum += q[c] * (k[c] + e[c]) + k[c] * e[c];
        return sum;
    }
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < n; c++)
        sum += q[c] * (k[c] + e[c]);
    return sum;
}

/* Scores of the keys that query i attends to, the range that is returned. */
static Range row_scores(float *scores, const Head *head, int64_t i)
{
    Range seen;
    const float *q = head->q + i * head->ld_q;
    attn_visible(head->spec, (AttnSequence){ head->tq, head->tk, head->prefix }, i, &seen.begin, &seen.end);
    for (int64_t j = seen.begin; j < seen.end; j++)
        scores[j] =
            head->spec->scale * score(q, head->k + j * head->ld_k, head->center + distance_of(head, i, j) * head->ld_e,
                                      head->spec->distance->keys, head->size);
    return seen;
}

/* The factors of dropout of query i; all ones without it. */
static void row_mask(float *mask, const Head *head, int64_t i)
{
    if (head->drop->rate > 0) {
        MaskRow factors = mask_row(head->drop, head->q_first + i, (uint32_t)head->number);
        mask_fill(mask, &factors, 0, head->tk);
        return;
    }
    for (int64_t j = 0; j < head->tk; j++)
        mask[j] = 1;
}

static void add_scaled(float *out, float factor, const float *x, int64_t n)
{
    SIMD for (int64_t c = 0; c < n; c++) out[c] += factor * x[c];
}

/* Scores become e^(score - max), whose sum is returned. */
static float exponentials(float *scores, Range seen, float *max)
{
    float total = 0;
    *max = -INFINITY;
    for (int64_t j = seen.begin; j < seen.end; j++)
        *max = scores[j] > *max ? scores[j] : *max;
    for (int64_t j = seen.begin; j < seen.end; j++) {
        scores[j] = exp_f32(scores[j] - *max);
        total += scores[j];
    }
    return total;
}

static void row_fwd(float *o, float *lse, const Desk *desk, const Head *head, int64_t i)
{
    float max;
    Range seen = row_scores(desk->scores, head, i);
    float total = exponentials(desk->scores, seen, &max);
    row_mask(desk->mask, head, i);
    memset(o, 0, (size_t)head->size * sizeof *o);
    for (int64_t j = seen.begin; j < seen.end; j++)
        add_scaled(o, desk->scores[j] / total * desk->mask[j], head->v + j * head->ld_v, head->size);
    *lse = total > 0 ? max + logf(total) : 0;
}

static void zero_all(Tensor t)
{
    for (int64_t i = 0; i < t.d[0]; i++)
        memset(row_of(t, i), 0, (size_t)t.d[1] * sizeof(float));
}

void cpu_attn_distance_fwd(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, const AttnSpec *spec,
                           const Dropout *drop)
{
    size_t bytes = 2 * row_bytes(spec);
    char *workspace = cpu_workspace(dev, (size_t)dev->threads * bytes);
    zero_all(o);
    zero_all(lse);
#pragma omp parallel for num_threads(dev->threads) schedule(static)
    for (int64_t task = 0; task < (int64_t)spec->n_seq * spec->heads; task++) {
        Desk desk = desk_at(workspace + (size_t)omp_get_thread_num() * bytes, spec);
        Head head = head_of(spec, drop, (int32_t)(task / spec->heads), (int32_t)(task % spec->heads), q, k, v);
        for (int64_t i = 0; i < head.tq; i++)
            row_fwd(row_of(o, head.q_first + i) + head.index * head.size, row_of(lse, head.index) + head.q_first + i,
                    &desk, &head, i);
    }
}

/* Rows of one head in the tensors of backward. */
typedef struct HeadBwd {
    Head head;
    float *dq, *dk, *dv;
    const float *o, *dout, *lse;
    int64_t ld_dq, ld_dk, ld_dv, ld_o, ld_dout;
} HeadBwd;

/* The gradients of a score's query, key and embedding grow by their parts of ds, the gradient of the score times the
 * scale. `keys` is 1 with AttnDistance.keys, else 0. */
static void pair_bwd(float *restrict dq, float *restrict dk, float *restrict de, const float *restrict q,
                     const float *restrict k, const float *restrict e, float ds, float keys, int64_t n)
{
    float ds_keys = ds * keys;
    SIMD for (int64_t c = 0; c < n; c++)
    {
        dq[c] += ds * (k[c] + e[c]);
        dk[c] += ds * q[c] + ds_keys * e[c];
        de[c] += ds * q[c] + ds_keys * k[c];
    }
}

static void row_bwd(const HeadBwd *hb, const Desk *desk, int64_t i)
{
    const Head *head = &hb->head;
    const AttnDistance *distance = head->spec->distance;
    const float *dout = hb->dout + i * hb->ld_dout, *q = head->q + i * head->ld_q;
    float *dq = hb->dq + i * hb->ld_dq, *middle = desk->dtable + distance->table.d[0] / 2 * head->size;
    float delta = dot(dout, hb->o + i * hb->ld_o, head->size);
    Range seen = row_scores(desk->scores, head, i);
    row_mask(desk->mask, head, i);
    for (int64_t j = seen.begin; j < seen.end; j++) {
        float p = exp_f32(desk->scores[j] - hb->lse[i]), mask = desk->mask[j];
        float dp = mask * dot(dout, head->v + j * head->ld_v, head->size);
        add_scaled(hb->dv + j * hb->ld_dv, p * mask, dout, head->size);
        int64_t at = distance_of(head, i, j);
        pair_bwd(dq, hb->dk + j * hb->ld_dk, middle + at * head->size, q, head->k + j * head->ld_k,
                 head->center + at * head->ld_e, head->spec->scale * p * (dp - delta), distance->keys ? 1 : 0,
                 head->size);
    }
}

/* dtable = beta·dtable + Σ over threads, in their order: which tasks a thread has does not change from run to run. */
static void reduce_table(const AttnDistance *distance, const char *workspace, size_t bytes, size_t before, int threads)
{
    Tensor d = distance->dtable;
    for (int64_t row = 0; row < d.d[0]; row++) {
        float *out = row_of(d, row);
        for (int64_t c = 0; c < d.d[1]; c++)
            out[c] = distance->beta == 0.0f ? 0 : distance->beta * out[c];
        for (int t = 0; t < threads; t++) {
            const float *sums = (const float *)(workspace + (size_t)t * bytes + before);
            add_scaled(out, 1, sums + row * d.d[1], d.d[1]);
        }
    }
}

void cpu_attn_distance_bwd(Device *dev, Tensor dq, Tensor dk, Tensor dv, Tensor dout, Tensor o, Tensor lse, Tensor q,
                           Tensor k, Tensor v, const AttnSpec *spec, const Dropout *drop)
{
    size_t before = 2 * row_bytes(spec), bytes = before + table_bytes(spec);
    char *workspace = cpu_workspace(dev, (size_t)dev->threads * bytes);
    int32_t kv_heads = attn_kv_heads(spec), group = spec->heads / kv_heads;
    memset(workspace, 0, (size_t)dev->threads * bytes);
    zero_all(dq);
    zero_all(dk);
    zero_all(dv);
#pragma omp parallel for num_threads(dev->threads) schedule(static)
    for (int64_t task = 0; task < (int64_t)spec->n_seq * kv_heads; task++) {
        Desk desk = desk_at(workspace + (size_t)omp_get_thread_num() * bytes, spec);
        for (int32_t g = 0; g < group; g++) {
            int32_t h = (int32_t)(task % kv_heads) * group + g;
            Head head = head_of(spec, drop, (int32_t)(task / kv_heads), h, q, k, v);
            int64_t channel = h * head.size, kv_channel = h / group * head.size,
                    k_first = spec->cu_k.device[task / kv_heads];
            HeadBwd hb = { .head = head,
                           .dq = row_of(dq, head.q_first) + channel,
                           .dk = row_of(dk, k_first) + kv_channel,
                           .dv = row_of(dv, k_first) + kv_channel,
                           .o = row_of(o, head.q_first) + channel,
                           .dout = row_of(dout, head.q_first) + channel,
                           .lse = row_of(lse, h) + head.q_first,
                           .ld_dq = dq.ld,
                           .ld_dk = dk.ld,
                           .ld_dv = dv.ld,
                           .ld_o = o.ld,
                           .ld_dout = dout.ld };
            for (int64_t i = 0; i < head.tq; i++)
                row_bwd(&hb, &desk, i);
        }
    }
    reduce_table(spec->distance, workspace, bytes, before, dev->threads);
}
