/* attention.h: multi-head self-attention and cross-attention, over packed sequences and over key/value caches. nn/ctx.h
 * has the legend of the dimensions N, E, S, C, H, D, A, K, P, Tq, Tk. */
#pragma once

#include "nn/layers.h"

/* Context-dependent queries, as in T5CDQAttention of t5-experiments. Each head h pools the hidden states n_i of a
 * sequence into one vector,
 *   pooled_h = Σ_i softmax_i(score_h · relu(hidden n_i)) n_i,
 * and the query of token i in head h is q mix [pooled_h; n_i]. */
typedef struct ContextQueryW {
    Tensor hidden; /* (C,C) */
    Tensor score;  /* (H,C) */
    Tensor mix;    /* (C,2C): the left half multiplies pooled_h, the right half n_i */
    Tensor q;      /* (D,C), the same for all heads */
} ContextQueryW;

typedef struct ContextQuerySave {
    Tensor h, a;  /* (N,C) each: h = n hiddenᵀ, a = relu(h) */
    Tensor mixed; /* (N,C) n times the right half of mix, transposed */
} ContextQuerySave;

/* q (N,A): queries of all heads. n (N,C): hidden states. */
void context_query_fwd(const Ctx *cx, Tensor q, Tensor n, const ContextQueryW *w, ContextQuerySave *save);
/* dn += the gradient of n. Weight gradients: g = beta g + new. */
void context_query_bwd(const Ctx *cx, Tensor dn, Tensor dq, Tensor n, const ContextQueryW *w, const ContextQueryW *g,
                       float beta, const ContextQuerySave *save);

/* What backward needs of a norm over heads: x (N, heads D), rstd (N heads). */
typedef struct HeadNormSave {
    Tensor x, rstd;
} HeadNormSave;

/* RMSNorm, in place, of each head's D channels of t (N, heads D), which may be a slice. No effect without gain (D). */
void head_norm_fwd(const Ctx *cx, Tensor t, Tensor gain, HeadNormSave *save);
/* dt becomes the gradient of what head_norm_fwd took; dgain = beta dgain + new. */
void head_norm_bwd(const Ctx *cx, Tensor dt, Tensor gain, Tensor dgain, float beta, const HeadNormSave *save);

/* The weights of one attention sublayer. Self-attention: qkv, whose parts are q, k and v, so that one matrix product
 * computes queries, keys and values. With context-dependent queries part q is absent (`context` replaces it).
 * Cross-attention: q, and kv, whose parts are k and v. */
typedef struct AttentionW {
    NormW norm;
    Linear qkv;            /* (A + 2K, C) */
    Linear q, kv;          /* (A,C), (2K,C) */
    Linear o;              /* (C,A) output projection */
    Tensor q_norm, k_norm; /* (D) each: gains of the RMSNorm of each head's queries and keys; absent without it */
    Tensor relpos;         /* (relative-position buckets, H) the block's own table; absent if all blocks share one */
    ContextQueryW context; /* absent without context-dependent queries */
    Tensor distance;       /* (2P - 1, D) distance embeddings (AttnDistance.table); absent if the model has none */
} AttentionW;

/* Queries, keys and values. If qkv (N, A + 2K) is present, q, k and v are column slices of it. Otherwise q is (N,A),
 * and k and v are column slices of kv: (N,2K) in self-attention, (E,2K) in cross-attention. With context parallelism
 * those in AttentionSave have all tokens and 1/c of the heads (nn/context.h). */
typedef struct Projections {
    Tensor q, k, v, qkv, kv;
} Projections;

/* Tensors that the backward pass of an attention sublayer needs. */
typedef struct AttentionSave {
    SublayerSave in;
    Tensor encoder_out; /* (E,C); absent in self-attention */
    Projections p;
    HeadNormSave q_norm, k_norm;
    Tensor bias; /* (H, Tq + Tk - 1) relative-position bias; absent if there is none */
    Tensor o;    /* (N,A) the attention output, before the output projection */
    Tensor lse;  /* (H,N) log-sum-exp of the scores */
    ContextQuerySave context;
} AttentionSave;

/* The attention sublayer: f(n) = attention(queries from n, keys and values from n or encoder_out) oᵀ, with the norm and
 * the residual sum of sublayer_enter (layers.h); afterwards the stream is y (N,C). encoder_out (E,C); NO_TENSOR means
 * self-attention, which is causal in the decoder. bias (H, Tq + Tk - 1) is added to the scores; its columns are the
 * relative positions key - query in rising order; NO_TENSOR means none. */
void attention_fwd(const Ctx *cx, Residual *stream, Tensor y, Tensor encoder_out, Tensor bias, const AttentionW *w,
                   AttentionSave *save);
/* grad->dx holds dy on entry and the gradient of x on return. dencoder_out (E,C) and dbias are added to, since all
 * blocks share encoder_out and bias; each is NO_TENSOR if its input is. Of tensor-parallel ranks each adds the part of
 * its own heads to dencoder_out. Weight gradients: g = beta g + new. */
void attention_bwd(const Ctx *cx, ResidualGrad *grad, Tensor dencoder_out, Tensor dbias, const AttentionW *w,
                   const AttentionW *g, float beta, const AttentionSave *save);

/* kv (E,2K): keys and values of the encoder output (E,C) for cross-attention. */
void attention_cross_kv(const Ctx *cx, Tensor kv, Tensor encoder_out, const AttentionW *w);

/* One step of decoding: one new token in each of S sequences. */
typedef struct DecodeStep {
    Sequences queries; /* S sequences of length 1: the new tokens */
    Sequences keys;    /* the keys in the self-attention caches, those of the new tokens included */
    Tensor new_rows;   /* (S) i32: the row of the caches that takes the keys and values of each new token */
    int32_t capacity;  /* rows of the cache per sequence: the most tokens that a sequence may have */
} DecodeStep;

/* attention_fwd of self-attention for the new tokens, stream->x (S,C); y may be x. cache (S capacity, 2K) holds keys in
 * its first K columns and values in the last K, `capacity` rows per sequence; the keys and values of the new tokens are
 * stored there first. The last column of bias (H, at least the longest key sequence) is for distance 0. */
void attention_step_self(const Ctx *cx, Residual *stream, Tensor y, Tensor bias, const AttentionW *w, Tensor cache,
                         const DecodeStep *step);
/* attention_fwd of cross-attention for the new tokens, stream->x (S,C); y may be x. cache (E,2K) comes from
 * attention_cross_kv. Sequence i of cx->tokens consists of the new tokens of all beams or samples of prompt i, which
 * share that prompt's encoder output. */
void attention_step_cross(const Ctx *cx, Residual *stream, Tensor y, const AttentionW *w, Tensor cache);

/* ---- attend.c: attention itself, between the projections ---- */

/* Projections of n queries, `width` columns of as many heads as that is, allocated in `arena`. n_apart: rows of the
 * separate tensor kv; 0 means that keys and values lie in qkv, beside the queries. */
Projections projections_new(const Ctx *cx, Arena *arena, int64_t n, int64_t n_apart, int64_t width);
/* Attention of `own`, the projections of this rank's tokens, in save->encoder_out or in the sequences themselves; sets
 * p, bias, o and lse of *save. Returns the output (N,A) of this rank's tokens. */
Tensor attend_fwd(const Ctx *cx, const Projections *own, Tensor bias, const AttentionW *w, AttentionSave *save);
/* What attend_fwd has returned, (N, width). */
Tensor attend_output(const Ctx *cx, const AttentionSave *save, int64_t width);
/* Computes dp, the gradients of `own`, from dattended, that of the output. If the bias is the stack's, dbias is added
 * to; if it comes from the block's own table, g->relpos = beta g->relpos + new. */
void attend_bwd(const Ctx *cx, const Projections *dp, Tensor dbias, Tensor dattended, const AttentionW *w,
                const AttentionW *g, float beta, const AttentionSave *save);
/* o (S,A) = attention of the queries q (S,A) to the keys and values in a cache: those of step, in self-attention with a
 * bias as for attention_step_self; NULL: those of the encoder output. */
void attend_cache(const Ctx *cx, Tensor o, Tensor q, Tensor bias, const AttentionW *w, Tensor cache,
                  const DecodeStep *step);
