/* head.h: one head of one sequence (Head in cpu/attention.h), for the attention kernels of this folder. */
#pragma once

#include "device/cpu/attention.h"
#include "device/cpu/kernels/rows.h"
#include "device/cpu/mask.h"

#define cpu_attn_distance_fwd ISA_NAME(cpu_attn_distance_fwd)
#define cpu_attn_distance_bwd ISA_NAME(cpu_attn_distance_bwd)
#define cpu_attn_single_fwd   ISA_NAME(cpu_attn_single_fwd)

/* The Head for head h of sequence s. row: buffer for one row of the bias, used if the bias is not f32. */
static inline Head head_of(const AttnSpec *spec, const Dropout *drop, int32_t s, int32_t h, Tensor q, Tensor k,
                           Tensor v, Tensor bias, float *row)
{
    return attn_head(spec, drop, s, h, q, k, v, tensor_present(bias) ? row_read(row, bias, h, 0, bias.d[1]) : NULL);
}

/* The arguments of op_attn_bwd. */
typedef struct Bwd {
    Tensor dq, dk, dv, dbias, dout, o, lse, q, k, v, bias;
    const AttnSpec *spec;
    const Dropout *drop;
} Bwd;

/* The HeadBwd for head h of sequence s; row as in head_of. Its dbias is NULL. */
static inline HeadBwd head_bwd_of(const Bwd *t, int32_t s, int32_t h, float *row)
{
    Head head = head_of(t->spec, t->drop, s, h, t->q, t->k, t->v, t->bias, row);
    return (HeadBwd){ .head = head,
                      .dq = head_rows(t->dq, head.q_first, head.tq, h, head.size),
                      .o = head_rows(t->o, head.q_first, head.tq, h, head.size),
                      .dout = head_rows(t->dout, head.q_first, head.tq, h, head.size),
                      .lse = row_of(t->lse, h) + head.q_first };
}

/* Writes the gradients dk and dv (tk,size) in f32 of one key head of sequence s into t->dk and t->dv. */
static inline void write_keys(const Bwd *t, int32_t s, int64_t kv_head, const float *dk, const float *dv)
{
    int64_t size = t->q.d[1] / t->spec->heads, first = t->spec->cu_k.device[s], n = t->spec->cu_k.device[s + 1] - first;
    for (int64_t j = 0; j < n; j++) {
        row_write(t->dk, first + j, kv_head * size, size, dk + j * size);
        row_write(t->dv, first + j, kv_head * size, size, dv + j * size);
    }
}

/* Sets a tensor of f32, bf16 or f16 to zero. */
static inline void zero_rows(Tensor t)
{
    for (int64_t i = 0; i < t.d[0]; i++)
        memset(row_address(t, i, 0), 0, (size_t)t.d[1] * (t.dtype == DT_F32 ? sizeof(float) : sizeof(uint16_t)));
}

/* Sets the rows of t that belong to no sequence to zero: rows before cu[0] and from cu[n_seq] on. */
static inline void zero_uncovered(Tensor t, const int32_t *cu, int32_t n_seq)
{
    zero_rows(tensor_slice_rows(t, 0, cu[0]));
    zero_rows(tensor_slice_rows(t, cu[n_seq], t.d[0] - cu[n_seq]));
}

static inline float dot(const float *a, const float *b, int64_t n)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < n; c++)
        sum += a[c] * b[c];
    return sum;
}

/* The attention kernels for embeddings of distances (spec->distance is not NULL). */
void cpu_attn_distance_fwd(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, const AttnSpec *spec,
                           const Dropout *drop);
void cpu_attn_distance_bwd(Device *dev, const Bwd *tensors);

/* The kernel of attn_fwd for at most FEW_QUERIES queries per sequence, as in decoding, without embeddings of distances,
 * layout and dropout. Keys are read in place, without packing. */
enum { FEW_QUERIES = 8 };
void cpu_attn_single_fwd(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias,
                         const AttnSpec *spec);
