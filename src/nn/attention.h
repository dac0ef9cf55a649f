/* attention.h: multi-head self- and cross-attention, over packed sequences and over key/value caches.
 * Dimensions N, E, S, C, H, D, A, K, P, Tq, Tk: see nn/ctx.h. */
#pragma once

#include "nn/layers.h"

/* Queries that depend on the whole sequence, as T5CDQAttention of t5-experiments has them: each head h pools the tokens
 * n of a sequence into one vector,
 *   P_h = Σ_i softmax_i(score_h · relu(hidden n_i)) n_i,
 * and the query of token i in head h is q mix [P_h; n_i]. */
typedef struct ContextQueryW {
    Tensor hidden; /* (C,C) */
    Tensor score;  /* (H,C) */
    Tensor mix;    /* (C,2C): left what multiplies P_h, right what multiplies n_i */
    Tensor q;      /* (D,C), the same for all heads */
} ContextQueryW;

typedef struct ContextQuerySave {
    Tensor h, a;  /* (N,C) n hiddenᵀ, and relu of it */
    Tensor mixed; /* (N,C) n times the right half of mix, transposed */
} ContextQuerySave;

/* q (N,A): queries of all heads for the tokens n (N,C). */
void context_query_fwd(const Ctx *cx, Tensor q, Tensor n, const ContextQueryW *w, ContextQuerySave *save);
/* dn += the gradient of n. Weight gradients: g = beta g + new. */
void context_query_bwd(const Ctx *cx, Tensor dn, Tensor dq, Tensor n, const ContextQueryW *w, const ContextQueryW *g,
                       float beta, const ContextQuerySave *save);

/* qkv is one matrix: the rows of q, then those of k, then those of v, which lie in the memory of qkv. Self-attention
 * computes queries, keys and values as one product with it. With context-dependent queries it has no q, whose place
 * `context` takes. Cross-attention has q, and k and v as parts of one matrix kv. */
typedef struct AttentionW {
    NormW norm;
    LinearW q, k, v;       /* (A,C), (K,C), (K,C) */
    LinearW qkv, kv;       /* (A + 2K, C), (2K,C) */
    LinearW o;             /* (C,A) */
    Tensor relpos;         /* (relative-position buckets, H) the block's own table; absent where all blocks share one */
    ContextQueryW context; /* its tensors are absent without context-dependent queries */
    Tensor distance;       /* (2P - 1, D) distance embeddings (AttnDistance.table), or absent */
} AttentionW;

/* Inputs of attention: q, k and v are column slices of qkv (N, A + 2K). Without qkv, q is (N,A), and k and v are column
 * slices of kv: (N,2K), in cross-attention (E,2K). */
typedef struct Projections {
    Tensor q, k, v, qkv, kv;
} Projections;

typedef struct AttentionSave {
    NormSave norm;
    Tensor n;           /* (N,C) norm(x), or x */
    Tensor encoder_out; /* (E,C); absent in self-attention */
    Projections p;
    Tensor bias; /* (H, Tq + Tk - 1) relative-position bias of the stack or of the block's own table, or absent */
    Tensor o;    /* (N,A) */
    Tensor lse;  /* (H,N) log-sum-exp of the scores */
    ContextQuerySave context;
} AttentionSave;

/* A sublayer (see layers.h) of f(n) = attention(n, encoder_out or n) oᵀ. encoder_out (E,C) is NO_TENSOR in
 * self-attention, which is causal in the decoder. bias (H, Tq + Tk - 1) is added to the
 * scores, a column for each relative position key - query; NO_TENSOR means none. */
void attention_fwd(const Ctx *cx, Tensor y, Tensor x, Tensor encoder_out, Tensor bias, const AttentionW *w,
                   AttentionSave *save);
/* dx (N,C) holds dy on entry and the gradient of x on return. dencoder_out (E,C) and dbias are added to: all blocks of
 * the stack share them; each is NO_TENSOR where its input is. Weight gradients: g = beta g + new. */
void attention_bwd(const Ctx *cx, Tensor dx, Tensor dencoder_out, Tensor dbias, const AttentionW *w,
                   const AttentionW *g, float beta, const AttentionSave *save);

/* kv (E,2K): keys and values of the encoder output (E,C) for cross-attention. */
void attention_cross_kv(const Ctx *cx, Tensor kv, Tensor encoder_out, const AttentionW *w);

/* A step of decoding: one new token in each of S sequences. */
typedef struct DecodeStep {
    Sequences queries; /* of length 1 */
    Sequences keys;    /* in the caches of self-attention, the new tokens included */
    Tensor new_rows;   /* (S) i32: the row of the caches that takes the keys and values of each new token */
    int32_t capacity;  /* rows of the caches for each sequence */
} DecodeStep;

/* attention_fwd for the new tokens x (S,C); y may be x. cache (S capacity, 2K), `capacity` rows for each sequence,
 * holds keys in its first K columns and values in the last K; those of the new tokens are put there first. The last
 * column of bias (H,T) is that of distance 0. */
void attention_step_self(const Ctx *cx, Tensor y, Tensor x, Tensor bias, const AttentionW *w, Tensor cache,
                         const DecodeStep *step);
/* attention_fwd of cross-attention for the new tokens x; cache (E,2K) is what attention_cross_kv gives.
 * Each sequence of cx->tokens is a prompt, whose tokens are the new ones of its beams or samples: they share the
 * prompt's encoder output. */
void attention_step_cross(const Ctx *cx, Tensor y, Tensor x, const AttentionW *w, Tensor cache);
