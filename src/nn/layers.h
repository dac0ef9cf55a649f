/* layers.h: linear layers, norms, the residual sum around a sublayer, the feed-forward sublayer, the embedding, and
 * heads. Dimensions: see nn/ctx.h. Weight gradients: g = beta g + new. */
#pragma once

#include "nn/ctx.h"

/* A low-rank adapter of a linear layer (LoRA, Hu et al. 2022); both tensors are absent where the layer has none. */
typedef struct LoraW {
    Tensor a; /* (r,in) */
    Tensor b; /* (out,r) */
} LoraW;

typedef struct LinearW {
    Tensor w; /* (out,in) */
    Tensor b; /* (out), or absent */
    LoraW lora;
} LinearW;

/* y (N,out) = x (N,in) wᵀ + b. */
void linear_fwd(const Ctx *cx, Tensor y, Tensor x, LinearW w);
/* dx = dy w, and the gradients of the weights. */
void linear_bwd(const Ctx *cx, Tensor dx, Tensor dy, Tensor x, LinearW w, LinearW g, float beta);
/* dx = dx_beta dx + dy w: dx_beta is 1 where several layers read the same x. */
void linear_bwd_input(const Ctx *cx, Tensor dx, float dx_beta, Tensor dy, LinearW w);
/* g.w = beta g.w + dyᵀ x; g.b = beta g.b + Σ over rows of dy. */
void linear_bwd_weight(const Ctx *cx, Tensor dy, Tensor x, LinearW g, float beta);

/* The linear layers of a block, as products compute them; an index of its scales in FP8, so that these values never
 * change: a checkpoint holds them in this order. */
typedef enum LinearSite {
    LINEAR_SELF_QKV,
    LINEAR_SELF_O,
    LINEAR_CROSS_Q,
    LINEAR_CROSS_KV,
    LINEAR_CROSS_O,
    LINEAR_WI,
    LINEAR_WO,
    LINEAR_SITES
} LinearSite;

/* linear_fwd of a layer of a block: in FP8 where cx->fp8 is not NULL and both dimensions of w are multiples of 16. */
void block_linear_fwd(const Ctx *cx, Tensor y, Tensor x, LinearW w, LinearSite site);
/* dx = dx_beta dx + dy w, and the gradients of the weights. */
void block_linear_bwd(const Ctx *cx, Tensor dx, float dx_beta, Tensor dy, Tensor x, LinearW w, LinearW g, float beta,
                      LinearSite site);

/* The linear layers of a block that an adapter may belong to; part of the key of the adapter's dropout, so these values
 * never change. QKV and WI are whole fusion groups: one adapter for all of their rows. */
typedef enum LoraSite {
    LORA_SELF_Q,
    LORA_SELF_K,
    LORA_SELF_V,
    LORA_SELF_QKV,
    LORA_SELF_O,
    LORA_CROSS_Q,
    LORA_CROSS_K,
    LORA_CROSS_V,
    LORA_CROSS_O,
    LORA_WI_0,
    LORA_WI_1,
    LORA_WI,
    LORA_WO,
    LORA_SITES
} LoraSite;

/* y (N,out) += scale dropout(x) aᵀ bᵀ, where scale = ModelSpec.lora_scale and x is (N,in); nothing without an adapter.
 */
void lora_fwd(const Ctx *cx, Tensor y, Tensor x, LoraW w, LoraSite site);
/* dx += the gradient of lora_fwd; g: gradients of the adapter, g = beta g + new. */
void lora_bwd(const Ctx *cx, Tensor dx, Tensor dy, Tensor x, LoraW w, LoraW g, float beta, LoraSite site);

/* RMSNorm: y = x rstd w. LayerNorm: y = (x - mean) rstd w + b. */
typedef struct NormW {
    Tensor w; /* (C) */
    Tensor b; /* (C), or absent */
} NormW;

typedef struct NormSave {
    Tensor x;          /* (N,C) */
    Tensor mean, rstd; /* (N) kept because recomputing them costs a full read of x; RMSNorm has no mean */
} NormSave;

/* y (N,C) = norm(x). */
void norm_fwd(const Ctx *cx, Tensor y, Tensor x, NormW w, NormSave *save);
/* dx = residual + the gradient of norm_fwd; residual is dx or NO_TENSOR (means 0); dx may be dy. */
void norm_bwd(const Ctx *cx, Tensor dx, Tensor dy, Tensor residual, NormW w, NormW g, float beta, const NormSave *save);

/* A sublayer f, such as attention, with its norm and the residual sum around it:
 *   pre-LN   y = x + dropout(f(norm(x)))
 *   post-LN  y = norm(x + dropout(f(x)))
 *   no norm  y = x + dropout(f(x)), where w.w is absent
 * sublayer_enter returns the input of f, sublayer_leave makes y from out = f(…). */
Tensor sublayer_enter(const Ctx *cx, Tensor x, NormW w, NormSave *save);
void sublayer_leave(const Ctx *cx, Tensor y, Tensor x, Tensor out, DropoutSite site, NormW w, NormSave *save);
/* Backward order: sublayer_leave_bwd, backward of f, sublayer_enter_bwd. dx (N,C) holds dy; sublayer_leave_bwd writes
 * dout, the gradient of `out`; with post-LN dx becomes the gradient of the sum x + dropout(f(x)). */
void sublayer_leave_bwd(const Ctx *cx, Tensor dout, Tensor dx, DropoutSite site, NormW w, NormW g, float beta,
                        const NormSave *save);
/* dn (N,C) is the gradient of the input of f. pre-LN: dx += norm backward of dn; else dx += dn. */
void sublayer_enter_bwd(const Ctx *cx, Tensor dx, Tensor dn, NormW w, NormW g, float beta, const NormSave *save);

/* The feed-forward sublayer. Gated: wi (2F,C) is wi_0 (F,C) above wi_1 (F,C), both views into it. Not gated: wi (F,C)
 * alone. */
typedef struct MlpW {
    NormW norm;
    LinearW wi_0, wi_1, wi;
    LinearW wo; /* (C,F) */
} MlpW;

typedef struct MlpSave {
    NormSave norm;
    Tensor n; /* (N,C) norm(x), or x */
    Tensor h; /* (N,F), gated (N,2F): n wiᵀ, before the activation */
    Tensor a; /* (N,F) after activation, gate and dropout; kept because drawing the mask again is slow */
} MlpSave;

/* A sublayer of f(n) = a woᵀ, a = dropout(act(n wi_0ᵀ) · (n wi_1ᵀ)), the second factor if gated. */
void mlp_fwd(const Ctx *cx, Tensor y, Tensor x, const MlpW *w, MlpSave *save);
/* dx (N,C) holds dy on entry and the gradient of x on return. */
void mlp_bwd(const Ctx *cx, Tensor dx, const MlpW *w, const MlpW *g, float beta, const MlpSave *save);

/* The layer between the last block and a projection: BERT's transform before the vocabulary, and its pooler. */
typedef struct TransformW {
    LinearW dense; /* (C,C) */
    NormW norm;    /* absent in a pooler */
} TransformW;

typedef struct TransformSave {
    Tensor x, h; /* (L,C) the input (L: rows with a loss, or pooled rows), and x denseᵀ */
    NormSave norm;
} TransformSave;

/* y (L,C) = norm(activation(x denseᵀ)). */
void transform_fwd(const Ctx *cx, Tensor y, Tensor x, const TransformW *w, Activation activation, TransformSave *save);
/* dx may be dy. */
void transform_bwd(const Ctx *cx, Tensor dx, Tensor dy, const TransformW *w, Activation activation, const TransformW *g,
                   float beta, const TransformSave *save);

/* The input of a stack: embeddings of tokens, positions and token types. */
typedef struct EmbeddingW {
    Tensor table;         /* (V,C) by token id */
    Tensor positions;     /* (P,C) by position id: learned, or sinusoids, which have no gradient; or absent */
    Tensor token_types;   /* (number of token types, C), or absent */
    Tensor memory_tokens; /* (m,C), or absent: embeddings of the m learned tokens before every sequence */
    NormW norm;           /* norm of the sum of the embeddings, or absent */
} EmbeddingW;

/* y (N,C) = dropout(norm(embed_scale table[ids] + positions[position_ids] + token_types[i])), where i is the
 * token type; at memory tokens memory_tokens replaces table[ids]. */
void embedding_fwd(const Ctx *cx, Tensor y, const EmbeddingW *w, NormSave *save);
/* g.table = table_beta g.table + new, for the table is in another bucket; all other gradients: g = beta g + new. */
void embedding_bwd(const Ctx *cx, Tensor dy, const EmbeddingW *w, const EmbeddingW *g, float beta, float table_beta,
                   const NormSave *save);

/* A head: logits = scale t(x) wᵀ + b; t is a transform, or the identity. */
typedef struct HeadW {
    Tensor w, dw;                             /* (V,C); dw is absent where no gradient is wanted */
    Tensor b, db;                             /* (V), or absent */
    const TransformW *transform, *dtransform; /* NULL: the identity */
    Activation activation;                    /* of the transform */
    float scale;
    float beta; /* gradients: g = beta g + new */
} HeadW;

/* Rows of the last block's output that have a loss, and their targets. */
typedef struct HeadRows {
    Tensor rows;    /* (L) i32 distinct row indices into x (N,C); L > 0 */
    Tensor targets; /* (L) i32 classes */
    Tensor weights; /* (L) 1, or 0 where the row counts for nothing */
} HeadRows;

/* How many of n rows have their logits (V) computed at a time: the fewest chunks of about equal size. */
int64_t head_chunk_rows(int64_t vocab, DType dtype, int64_t n);
/* Cross-entropy over the classes of each row, with the logits of a chunk of rows at a time, never all (L,V) at once.
 * sums (XENT_STATS) f64 = the statistics of op_xent summed over L. With xent->grad the gradient is added to dx (N,C),
 * and the gradients of the head are written. */
void head_loss(const Ctx *cx, Tensor sums, Tensor dx, Tensor x, const HeadW *head, const HeadRows *rows,
               const XentSpec *xent);
/* logits (N,V) f32 of x (N,C), in host memory; waits for the device. */
void head_logits(const Ctx *cx, float *logits, Tensor x, const HeadW *head);
/* The most likely classes of each row of x, and log Σ exp of its logits: see op_top. */
void head_top(const Ctx *cx, Tensor values, Tensor ids, Tensor log_sum, Tensor x, const HeadW *head);
