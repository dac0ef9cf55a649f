/* attention_launch.h: operands of attention's results, and the launches of one file that another one calls. */
#pragma once

#include "device/cuda/kernels/attention.h"

struct FwdOutputs {
    View o;
    float *lse; /* (heads, queries), rows lse_ld apart */
    int64_t lse_ld;
};

struct Gradients {
    View dq, dk, dv, dout, o, dtable;
    const float *lse;
    int64_t lse_ld, queries; /* rows of q */
    float *delta;            /* (heads, queries): dout·o of each query and head */
    float *diagonals;        /* of each tile of queries: see diagonals_of; NULL means that no bias has a gradient */
};

/* The gradient of the bias: each tile of DIAGONAL_QUERIES queries of a sequence and head leaves the sums of ds along
 * diagonals, place key - query + DIAGONAL_QUERIES - 1, where query counts from the first of the tile and key from the
 * first of the sequence. */
enum { DIAGONAL_QUERIES = 64 };

HOST_DEVICE static inline int64_t diagonals_used(int64_t keys)
{
    return keys + DIAGONAL_QUERIES - 1;
}

/* The places of tile `tile` of `tiles`, NULL where there are none. */
HOST_DEVICE static inline float *diagonals_of(const AttnSpec &spec, const Gradients &g, int seq, int head, int tile,
                                              int tiles)
{
    int64_t number = ((int64_t)seq * spec.heads + head) * tiles + tile;
    return g.diagonals ? g.diagonals + number * diagonals_used(spec.max_k) : NULL;
}

static inline bool attn_on_tensor_cores(const Attn &attn)
{
    return attn.q.dtype != DT_F32 && attn.table.p == NULL;
}

/* On tensor cores: q, k, v and the other operands of bf16 or f16, without embeddings of distances. */
void attention_mma_fwd(Gpu *gpu, const Attn &attn, const FwdOutputs &to);
/* dq, dk and dv, and what the tiles leave of the bias's gradient; g.delta is there. */
void attention_mma_bwd(Gpu *gpu, const Attn &attn, const Gradients &g);
enum { DECODE_QUERIES = 8 };
/* At most DECODE_QUERIES queries a sequence, without dropout and embeddings of distances, of any dtype; q has `queries`
 * rows. */
void attention_decode(Gpu *gpu, const Attn &attn, const FwdOutputs &to, int64_t queries);
