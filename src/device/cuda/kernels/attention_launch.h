/* attention_launch.h: the outputs of the attention kernels, and the functions that launch attention kernels of other
 * files. */
#pragma once

#include "device/cuda/kernels/attention.h"

/* Outputs of attention forward. */
struct FwdOutputs {
    View o;
    float *lse; /* (heads, queries) log-sum-exp of the scores; rows are lse_ld numbers apart */
    int64_t lse_ld;
};

/* Tensors of attention backward, besides its Attn. */
struct Gradients {
    View dq, dk, dv, dout, o;
    const float *lse;
    int64_t lse_ld, queries; /* number of rows of q */
    float *delta;            /* (heads, queries): dot product of dout and o, per query and head */
    float *diagonals; /* partial sums for the gradient of the bias (diagonals_of); NULL means that this gradient is not
                         computed */
    /* What a launch is for: tiles of queries first_tile, …, of sequences first_seq, …, for all heads. */
    int first_seq, n_seq, first_tile, n_tiles;
};

/* The gradient of the bias (relative positions) is the sum of ds, the gradient of the scores, along the diagonals key -
 * query. Each tile of DIAGONAL_QUERIES queries of a sequence and head stores its own sums, at index key - query +
 * DIAGONAL_QUERIES - 1; query is counted from the tile's first query, key from the sequence's first key. */
enum { DIAGONAL_QUERIES = 64 };

/* The number of diagonals of a tile with this number of keys. */
HOST_DEVICE static inline int64_t diagonals_used(int64_t keys)
{
    return keys + DIAGONAL_QUERIES - 1;
}

/* The sums of a tile of the launch, of a sequence and head; NULL if they are not computed. */
HOST_DEVICE static inline float *diagonals_of(const AttnSpec &spec, const Gradients &g, int seq, int head, int tile)
{
    int64_t number = ((int64_t)(seq - g.first_seq) * spec.heads + head) * g.n_tiles + tile - g.first_tile;
    return g.diagonals ? g.diagonals + number * diagonals_used(spec.max_k) : NULL;
}

/* Whether attention runs on tensor cores: its operands are bf16 or f16, each head begins at an address that is a
 * multiple of 16, and there are no embeddings of distances. dout is NO_TENSOR's view in forward. */
static inline bool attn_on_tensor_cores(const Attn &attn, const View &dout)
{
    return attn.q.dtype != DT_F32 && attn.table.p == NULL && attn.dim % VEC == 0 && attn.q.wide && attn.k.wide &&
           attn.v.wide && dout.wide;
}

/* Attention forward on tensor cores, for a call with attn_on_tensor_cores. */
void attention_mma_fwd(Gpu *gpu, const Attn &attn, const FwdOutputs &to);
/* Computes dq and g.diagonals of the tiles of g on tensor cores (attention_mma_dq), dk and dv (attention_mma_dkv);
 * g.delta must have been computed. */
void attention_mma_dq(Gpu *gpu, const Attn &attn, const Gradients &g);
void attention_mma_dkv(Gpu *gpu, const Attn &attn, const Gradients &g);
/* Attention forward for at most DECODE_QUERIES queries per sequence, without dropout and embeddings of distances, in
 * any dtype; q has `queries` rows. */
void attention_decode(Gpu *gpu, const Attn &attn, const FwdOutputs &to, int64_t queries);
