/* head.h: one head of one sequence, for the attention kernels. */
#pragma once

#include "device/cpu/kernels/kernels.h"

#include <string.h>

/* q, k, v: the first row of the sequence in the head's columns; the next row is ld_q, ld_k, ld_v floats further. */
typedef struct Head {
    const AttnSpec *spec;
    const Dropout *drop;
    const float *q, *k, *v;
    const float *bias; /* bias[j - i] for key j and query i; NULL: none */
    int64_t q_first, tq, tk, prefix, size, ld_q, ld_k, ld_v;
    int32_t index, number; /* of the head: here, and in the whole layer */
} Head;

/* Head h of sequence s. */
static inline Head head_of(const AttnSpec *spec, const Dropout *drop, int32_t s, int32_t h, Tensor q, Tensor k,
                           Tensor v, Tensor bias)
{
    int64_t size = q.d[1] / spec->heads, kv_channel = h / (spec->heads / attn_kv_heads(spec)) * size;
    int64_t tq = spec->cu_q.device[s + 1] - spec->cu_q.device[s], tk = spec->cu_k.device[s + 1] - spec->cu_k.device[s];
    int64_t k_first = spec->k_first.device ? spec->k_first.device[s] : spec->cu_k.device[s];
    int64_t middle = spec->k_first.device ? spec->max_k - tk : spec->max_q - 1; /* column of key 0 for query 0 */
    return (Head){ .spec = spec,
                   .drop = drop,
                   .q = row_of(q, spec->cu_q.device[s]) + h * size,
                   .k = row_of(k, k_first) + kv_channel,
                   .v = row_of(v, k_first) + kv_channel,
                   .bias = tensor_present(bias) ? row_of(bias, h) + middle : NULL,
                   .q_first = spec->cu_q.device[s],
                   .tq = tq,
                   .tk = tk,
                   .prefix = spec->prefix.device ? spec->prefix.device[s] : 0,
                   .size = size,
                   .ld_q = q.ld,
                   .ld_k = k.ld,
                   .ld_v = v.ld,
                   .index = h,
                   .number = spec->first_head + h };
}

/* The keys that query i attends to. */
static inline Range visible(const Head *head, int64_t i)
{
    Range range;
    attn_visible(head->spec, (AttnSequence){ head->tq, head->tk, head->prefix }, i, &range.begin, &range.end);
    return range;
}

/* The tensors of attn_bwd. */
typedef struct Bwd {
    Tensor dq, dk, dv, dbias, dout, o, lse, q, k, v, bias;
    const AttnSpec *spec;
    const Dropout *drop;
} Bwd;

/* A Head with its rows in the tensors of backward. */
typedef struct HeadBwd {
    Head head;
    float *dq, *dk, *dv;
    float *dbias; /* sums of this sequence for the gradient of bias[j - i]; NULL: not wanted */
    const float *o, *dout, *lse;
    int64_t ld_dq, ld_dk, ld_dv, ld_o, ld_dout;
} HeadBwd;

static inline HeadBwd head_bwd_of(const Bwd *t, int32_t s, int32_t h)
{
    Head head = head_of(t->spec, t->drop, s, h, t->q, t->k, t->v, t->bias);
    int64_t channel = h * head.size, k_first = t->spec->cu_k.device[s];
    int64_t kv_channel = h / (t->spec->heads / attn_kv_heads(t->spec)) * head.size;
    return (HeadBwd){ .head = head,
                      .dq = row_of(t->dq, head.q_first) + channel,
                      .dk = row_of(t->dk, k_first) + kv_channel,
                      .dv = row_of(t->dv, k_first) + kv_channel,
                      .o = row_of(t->o, head.q_first) + channel,
                      .dout = row_of(t->dout, head.q_first) + channel,
                      .lse = row_of(t->lse, h) + head.q_first,
                      .ld_dq = t->dq.ld,
                      .ld_dk = t->dk.ld,
                      .ld_dv = t->dv.ld,
                      .ld_o = t->o.ld,
                      .ld_dout = t->dout.ld };
}

static inline float dot(const float *a, const float *b, int64_t n)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < n; c++)
        sum += a[c] * b[c];
    return sum;
}

/* The attention kernels for a spec with spec->distance. */
void cpu_attn_distance_fwd(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, const AttnSpec *spec,
                           const Dropout *drop);
void cpu_attn_distance_bwd(Device *dev, const Bwd *tensors);
