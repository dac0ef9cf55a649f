/* distance.c: attention with embeddings of distances in its scores (AttnDistance), a score at a time: few models have
 * them. */
#include "device/cpu/kernels/head.h"
#include "device/cpu/kernels/mask.h"

#include <math.h>

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

/* Row of the table of embeddings, and of its gradient, for query i and key j. */
static int64_t table_row(const Head *head, int64_t i, int64_t j)
{
    return head->spec->distance->table.d[0] / 2 + i + head->tk - head->tq - j;
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
    const AttnDistance *distance = head->spec->distance;
    const float *q = head->q + i * head->ld_q;
    Range seen = visible(head, i);
    for (int64_t j = seen.begin; j < seen.end; j++) {
        const float *e = row_of(distance->table, table_row(head, i, j));
        scores[j] = head->spec->scale * score(q, head->k + j * head->ld_k, e, distance->keys, head->size);
    }
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

void cpu_attn_distance_fwd(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, const AttnSpec *spec,
                           const Dropout *drop)
{
    size_t bytes = 2 * row_bytes(spec);
    char *workspace = cpu_workspace(dev, (size_t)dev->threads * bytes);
    KERNEL(fill)(dev, o, 0);
    KERNEL(fill)(dev, lse, 0);
#pragma omp parallel for num_threads(dev->threads) schedule(static)
    for (int64_t task = 0; task < (int64_t)spec->n_seq * spec->heads; task++) {
        Desk desk = desk_at(workspace + (size_t)omp_get_thread_num() * bytes, spec);
        Head head =
            head_of(spec, drop, (int32_t)(task / spec->heads), (int32_t)(task % spec->heads), q, k, v, NO_TENSOR);
        for (int64_t i = 0; i < head.tq; i++)
            row_fwd(row_of(o, head.q_first + i) + head.index * head.size, row_of(lse, head.index) + head.q_first + i,
                    &desk, &head, i);
    }
}

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
    float *dq = hb->dq + i * hb->ld_dq, delta = dot(dout, hb->o + i * hb->ld_o, head->size);
    Range seen = row_scores(desk->scores, head, i);
    row_mask(desk->mask, head, i);
    for (int64_t j = seen.begin; j < seen.end; j++) {
        float p = exp_f32(desk->scores[j] - hb->lse[i]), mask = desk->mask[j];
        float dp = mask * dot(dout, head->v + j * head->ld_v, head->size);
        add_scaled(hb->dv + j * hb->ld_dv, p * mask, dout, head->size);
        int64_t row = table_row(head, i, j);
        pair_bwd(dq, hb->dk + j * hb->ld_dk, desk->dtable + row * head->size, q, head->k + j * head->ld_k,
                 row_of(distance->table, row), head->spec->scale * p * (dp - delta), distance->keys ? 1 : 0,
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

void cpu_attn_distance_bwd(Device *dev, const Bwd *tensors)
{
    const AttnSpec *spec = tensors->spec;
    size_t before = 2 * row_bytes(spec), bytes = before + table_bytes(spec);
    char *workspace = cpu_workspace(dev, (size_t)dev->threads * bytes);
    int32_t kv_heads = attn_kv_heads(spec), group = spec->heads / kv_heads;
    memset(workspace, 0, (size_t)dev->threads * bytes);
    KERNEL(fill)(dev, tensors->dq, 0);
    KERNEL(fill)(dev, tensors->dk, 0);
    KERNEL(fill)(dev, tensors->dv, 0);
#pragma omp parallel for num_threads(dev->threads) schedule(static)
    for (int64_t task = 0; task < (int64_t)spec->n_seq * kv_heads; task++) {
        Desk desk = desk_at(workspace + (size_t)omp_get_thread_num() * bytes, spec);
        for (int32_t g = 0; g < group; g++) {
            HeadBwd hb = head_bwd_of(tensors, (int32_t)(task / kv_heads), (int32_t)(task % kv_heads) * group + g);
            for (int64_t i = 0; i < hb.head.tq; i++)
                row_bwd(&hb, &desk, i);
        }
    }
    reduce_table(spec->distance, workspace, bytes, before, dev->threads);
}
