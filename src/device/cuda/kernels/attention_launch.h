/* attention_launch.h: outputs of the attention kernels, and functions that launch kernels of another file. */
#pragma once

#include "device/cuda/kernels/attention.h"

struct FwdOutputs {
    View o;
    float *lse; /* (heads, queries), with rows lse_ld numbers apart */
    int64_t lse_ld;
};

struct Gradients {
    View dq, dk, dv, dout, o, dtable;
    const float *lse;
    int64_t lse_ld, queries; /* rows of q */
    float *delta;            /* (heads, queries): dout·o of each query and head */
    float *diagonals; /* sums of each tile of queries for the gradient of the bias (diagonals_of); NULL means that it is
                         not computed */
};

/* For the gradient of the bias, each tile of DIAGONAL_QUERIES queries of a sequence and head stores the sums of ds
 * along diagonals, at index key - query + DIAGONAL_QUERIES - 1, where query is counted from the tile's first query and
 * key from the sequence's first key. */
enum { DIAGONAL_QUERIES = 64 };

HOST_DEVICE static inline int64_t diagonals_used(int64_t keys)
{
    return keys + DIAGONAL_QUERIES - 1;
}

/* The sums of tile `tile` of `tiles`; NULL if they are not computed. */
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

/* Attention forward on tensor cores: for operands of bf16 or f16, without embeddings of distances. */
void attention_mma_fwd(Gpu *gpu, const Attn &attn, const FwdOutputs &to);
/* Computes dq, dk, dv and g.diagonals on tensor cores; g.delta must have been computed. */
void attention_mma_bwd(Gpu *gpu, const Attn &attn, const Gradients &g);
enum { DECODE_QUERIES = 8 };
/* Attention forward for at most DECODE_QUERIES queries per sequence, without dropout and embeddings of distances, in
 * any dtype; q has `queries` rows. */
void attention_decode(Gpu *gpu, const Attn &attn, const FwdOutputs &to, int64_t queries);
