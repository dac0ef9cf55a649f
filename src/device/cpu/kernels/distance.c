/* distance.c: attention with distance embeddings in scores (AttnDistance), one score at a time: few models need it. */
#include "device/cpu/kernels/head.h"

/* Scratch memory of one thread: the tensors of a head in f32, contiguous, and sums of backward. */
typedef struct Scratch {
    const float *table; /* the embeddings, shared by all threads */
    float *scores, *mask, *q, *k, *v, *dout, *o, *dq, *dk, *dv, *dtable;
} Scratch;

/* Takes the next n numbers of a thread's scratch memory. */
static float *take_floats(char *memory, size_t *used, int64_t n)
{
    return attn_take(memory, used, (size_t)n * sizeof(float));
}

static size_t scratch_distance(Scratch *scratch, char *memory, const AttnSpec *spec, int64_t size)
{
    size_t used = 0;
    int64_t queries = spec->max_q * size, keys = spec->max_k * size;
    scratch->scores = take_floats(memory, &used, max_i64(spec->max_k, size));
    scratch->mask = take_floats(memory, &used, spec->max_k);
    float **const of_queries[] = { &scratch->q, &scratch->dout, &scratch->o, &scratch->dq };
    float **const of_keys[] = { &scratch->k, &scratch->v, &scratch->dk, &scratch->dv };
    for (int i = 0; i < 4; i++) {
        *of_queries[i] = take_floats(memory, &used, queries);
        *of_keys[i] = take_floats(memory, &used, keys);
    }
    scratch->dtable = take_floats(memory, &used, tensor_count(spec->distance->table));
    return used;
}

static void widen_rows(float *to, Tensor t)
{
    for (int64_t i = 0; i < t.d[0]; i++) {
        const float *from = row_read(to + i * t.d[1], t, i, 0, t.d[1]);
        if (from != to + i * t.d[1])
            memcpy(to + i * t.d[1], from, (size_t)t.d[1] * sizeof *to);
    }
}

static void widen_head(const Scratch *scratch, const Head *head)
{
    widen_rows(scratch->q, head->q);
    widen_rows(scratch->k, head->k);
    widen_rows(scratch->v, head->v);
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

/* Computes the scores of the keys that query i attends to, and returns their range. */
static Range row_scores(const Scratch *scratch, const Head *head, int64_t i)
{
    bool keys = head->spec->distance->keys;
    const float *q = scratch->q + i * head->size;
    Range seen = attn_keys(head, i);
    for (int64_t j = seen.begin; j < seen.end; j++) {
        const float *e = scratch->table + table_row(head, i, j) * head->size;
        scratch->scores[j] = head->spec->scale * score(q, scratch->k + j * head->size, e, keys, head->size);
    }
    return seen;
}

/* The dropout factors of query i; all 1 without dropout. */
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

/* Replaces scores by e^(score - max); returns their sum. */
static float exponentials_seen(float *scores, Range seen, float *max)
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

/* Computes o (size) and the log-sum-exp of query i. */
static void row_fwd(float *o, float *lse, const Scratch *scratch, const Head *head, int64_t i)
{
    float max;
    Range seen = row_scores(scratch, head, i);
    float total = exponentials_seen(scratch->scores, seen, &max);
    row_mask(scratch->mask, head, i);
    memset(o, 0, (size_t)head->size * sizeof *o);
    for (int64_t j = seen.begin; j < seen.end; j++)
        add_scaled(o, scratch->scores[j] / total * scratch->mask[j], scratch->v + j * head->size, head->size);
    *lse = total > 0 ? max + logf(total) : 0;
}

/* The workspace: the table of embeddings in f32, then `bytes` of scratch memory per thread. */
typedef struct ScratchPool {
    char *memory;
    const float *table;
    size_t bytes;
} ScratchPool;

static ScratchPool pool_open(Device *dev, const AttnSpec *spec, int64_t size)
{
    Scratch scratch;
    Tensor table = spec->distance->table;
    size_t table_bytes = row_bytes(tensor_count(table)), bytes = scratch_distance(&scratch, NULL, spec, size);
    char *workspace = cpu_workspace(dev, table_bytes + (size_t)dev->threads * bytes);
    widen_rows((float *)workspace, table);
    return (ScratchPool){ workspace + table_bytes, (float *)workspace, bytes };
}

static Scratch scratch_of(const ScratchPool *pool, int thread, const AttnSpec *spec, int64_t size)
{
    Scratch scratch = { .table = pool->table };
    scratch_distance(&scratch, pool->memory + (size_t)thread * pool->bytes, spec, size);
    return scratch;
}

void cpu_attn_distance_fwd(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, const AttnSpec *spec,
                           const Dropout *drop)
{
    int64_t size = q.d[1] / spec->heads;
    ScratchPool pool = pool_open(dev, spec, size);
    KERNEL(fill)(dev, o, 0);
    KERNEL(fill)(dev, lse, 0);
#pragma omp parallel for num_threads(dev->threads) schedule(static)
    for (int64_t task = 0; task < (int64_t)spec->n_seq * spec->heads; task++) {
        Scratch scratch = scratch_of(&pool, omp_get_thread_num(), spec, size);
        Head head =
            head_of(spec, drop, (int32_t)(task / spec->heads), (int32_t)(task % spec->heads), q, k, v, NO_TENSOR, NULL);
        widen_head(&scratch, &head);
        for (int64_t i = 0; i < head.tq; i++) {
            row_fwd(scratch.o, row_of(lse, head.index) + head.q_first + i, &scratch, &head, i);
            row_write(o, head.q_first + i, head.index * size, size, scratch.o);
        }
    }
}

/* Adds the gradients of a score's query, key and embedding. ds: gradient of the score times the scale; keys: 1 with
 * AttnDistance.keys, otherwise 0. */
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

static void row_bwd(const HeadBwd *hb, const Scratch *scratch, int64_t i)
{
    const Head *head = &hb->head;
    int64_t size = head->size;
    const float *dout = scratch->dout + i * size, *q = scratch->q + i * size;
    float delta = dot(dout, scratch->o + i * size, size), keys = head->spec->distance->keys ? 1 : 0;
    Range seen = row_scores(scratch, head, i);
    row_mask(scratch->mask, head, i);
    for (int64_t j = seen.begin; j < seen.end; j++) {
        float p = exp_f32(scratch->scores[j] - hb->lse[i]), mask = scratch->mask[j];
        float dp = mask * dot(dout, scratch->v + j * size, size);
        int64_t row = table_row(head, i, j) * size;
        add_scaled(scratch->dv + j * size, p * mask, dout, size);
        pair_bwd(scratch->dq + i * size, scratch->dk + j * size, scratch->dtable + row, q, scratch->k + j * size,
                 scratch->table + row, head->spec->scale * p * (dp - delta), keys, size);
    }
}

/* Computes the gradients of one query head; adds to dk and dv. */
static void distance_head_bwd(const HeadBwd *hb, const Scratch *scratch)
{
    int64_t tq = hb->head.tq, size = hb->head.size;
    widen_head(scratch, &hb->head);
    widen_rows(scratch->dout, hb->dout);
    widen_rows(scratch->o, hb->o);
    memset(scratch->dq, 0, (size_t)(tq * size) * sizeof *scratch->dq);
    for (int64_t i = 0; i < tq; i++)
        row_bwd(hb, scratch, i);
    for (int64_t i = 0; i < tq; i++)
        row_write(hb->dq, i, 0, size, scratch->dq + i * size);
}

/* dtable = beta·dtable + Σ over threads, in order: a thread's tasks are the same in every run. sum: a row's buffer. */
static void reduce_table(const AttnSpec *spec, const ScratchPool *pool, int threads, float *sum)
{
    Tensor d = spec->distance->dtable;
    int64_t n = d.d[1];
    for (int64_t row = 0; row < d.d[0]; row++) {
        float beta = spec->distance->beta,
              *out = beta == 0.0f ? row_place(sum, d, row, 0) : row_update(sum, d, row, 0, n);
        for (int64_t c = 0; c < n; c++)
            out[c] = beta == 0.0f ? 0 : beta * out[c];
        for (int t = 0; t < threads; t++)
            add_scaled(out, 1, scratch_of(pool, t, spec, n).dtable + row * n, n);
        row_write(d, row, 0, n, out);
    }
}

void cpu_attn_distance_bwd(Device *dev, const Bwd *tensors)
{
    const AttnSpec *spec = tensors->spec;
    int64_t size = tensors->q.d[1] / spec->heads;
    ScratchPool pool = pool_open(dev, spec, size);
    int32_t kv_heads = attn_kv_heads(spec), group = spec->heads / kv_heads;
    memset(pool.memory, 0, (size_t)dev->threads * pool.bytes);
    KERNEL(fill)(dev, tensors->dq, 0);
    KERNEL(fill)(dev, tensors->dk, 0);
    KERNEL(fill)(dev, tensors->dv, 0);
#pragma omp parallel for num_threads(dev->threads) schedule(static)
    for (int64_t task = 0; task < (int64_t)spec->n_seq * kv_heads; task++) {
        Scratch scratch = scratch_of(&pool, omp_get_thread_num(), spec, size);
        int32_t s = (int32_t)(task / kv_heads), kv_head = (int32_t)(task % kv_heads);
        size_t sums_bytes = (size_t)(spec->max_k * size) * sizeof(float);
        memset(scratch.dk, 0, sums_bytes);
        memset(scratch.dv, 0, sums_bytes);
        for (int32_t g = 0; g < group; g++) {
            HeadBwd hb = head_bwd_of(tensors, s, kv_head * group + g, NULL);
            distance_head_bwd(&hb, &scratch);
        }
        write_keys(tensors, s, kv_head, scratch.dk, scratch.dv);
    }
    reduce_table(spec, &pool, dev->threads, scratch_of(&pool, 0, spec, size).scores);
}
