/* layers.h: linear layers, norms, the residual sum, the feed-forward sublayer, the embedding, and heads. nn/ctx.h has
 * the legend of the dimensions (N, C, F, V, L, P, M, R) and the rules for gradients, such as g = beta g + new. */
#pragma once

#include "nn/ctx.h"

/* The linear layers of a block; fused layers, such as q, k and v, count as one. Checkpoints hold a block's FP8 scales
 * in this order, from LINEAR_SELF_QKV, so these values never change. LINEAR_OTHER: outside of blocks, never in FP8. */
typedef enum LinearSite {
    LINEAR_OTHER,
    LINEAR_SELF_QKV,
    LINEAR_SELF_O,
    LINEAR_CROSS_Q,
    LINEAR_CROSS_KV,
    LINEAR_CROSS_O,
    LINEAR_WI,
    LINEAR_WO,
    LINEAR_SITES = LINEAR_WO /* number of linear layers of a block */
} LinearSite;

/* A low-rank adapter (LoRA, Hu et al. 2022); both tensors are absent if there is none. */
typedef struct LoraW {
    Tensor a; /* (R,in) */
    Tensor b; /* (out,R) */
} LoraW;

/* Rows of the matrix of a fused layer that are a parameter of their own, such as those of the keys. */
typedef struct LinearPart {
    Tensor w, b;
    LoraW lora;
} LinearPart;

enum { LINEAR_PARTS = 3 };

/* A linear layer, or its gradients. */
typedef struct Linear {
    Tensor w;                      /* (out,in) */
    Tensor b;                      /* (out), or absent */
    LoraW lora;                    /* adapter of the whole matrix */
    LinearPart part[LINEAR_PARTS]; /* of a fused layer, in the order of their rows; absent parts have none */
    LinearSite site;
} Linear;

/* y (N,out) = x (N,in) wᵀ + b, and for each adapter lora_scale dropout(x) aᵀ bᵀ added to the columns of its part. In
 * FP8 if cx->fp8 is not NULL, the layer is one of a block and both dimensions of w are multiples of 16. If
 * tensor-parallel ranks add up their outputs (LINEAR_SELF_O, LINEAR_CROSS_O, LINEAR_WO), only the first one adds b. */
void linear_fwd(const Ctx *cx, Tensor y, Tensor x, const Linear *w);
/* dx = dx_beta dx + dy w; dx_beta is 1 to add to the gradient of another layer that reads the same x, else 0. Also
 * g.w = beta g.w + dyᵀ x, g.b = beta g.b + the sum of the rows of dy, and the gradients of the adapters. */
void linear_bwd(const Ctx *cx, Tensor dx, float dx_beta, Tensor dy, Tensor x, const Linear *w, const Linear *g,
                float beta);

/* RMSNorm: y = x rstd w, rstd = 1/sqrt(mean(x²) + eps). LayerNorm: y = (x - mean) rstd w + b, rstd = 1/sqrt(var(x) +
 * eps). */
typedef struct NormW {
    Tensor w; /* (C) */
    Tensor b; /* (C), or absent */
} NormW;

typedef struct NormSave {
    Tensor x;          /* (N,C) */
    Tensor mean, rstd; /* (N) each, kept because recomputing them costs a full read of x; mean is absent in RMSNorm */
} NormSave;

/* A norm in backward: its weights w, what forward has saved, and their gradients: g = beta · g + the gradient. */
typedef struct NormBack {
    NormW w, g;
    float beta;
    const NormSave *save;
} NormBack;

/* y (N,C) = norm(x). */
void norm_fwd(const Ctx *cx, Tensor y, Tensor x, NormW w, NormSave *save);
/* dx (N,C) = residual + the gradient of x. residual: dx itself (it is added to); NO_TENSOR means 0. dx may be dy. */
void norm_bwd(const Ctx *cx, Tensor dx, Tensor dy, Tensor residual, NormBack back);

/* The residual stream between two sublayers: x (N,C). While `out` is present x is not yet computed: it will be from +
 * dropout(out), by residual_sum, or in one pass with the norm that reads it, by residual_norm. x may be `from`. */
typedef struct Residual {
    Tensor x, from, out;
    Dropout drop;
    Tensor output; /* (tokens, C) scratch memory: each sublayer's output, written after the one before is added */
} Residual;

/* The stream x, and scratch memory for the outputs of sublayers, which the caller frees. */
Residual residual_begin(const Ctx *cx, Tensor x);
/* Returns x, which it computes if need be. */
Tensor residual_sum(const Ctx *cx, Residual *stream);
/* y (N,C) = norm(x); computes x if need be. */
void residual_norm(const Ctx *cx, Tensor y, Residual *stream, NormW w, NormSave *save);

/* The gradient of the residual stream in backward: dx (n,C), this rank's rows (nn/rows.h). Backward of a sublayer
 * begins with the gradient of its output, dout = mask · dx, in the compute dtype. Backward of the
 * norm that computes dx writes both if it knows the mask. */
typedef struct ResidualGrad {
    Tensor dx;
    Tensor dout;         /* (N,C) scratch memory */
    const Dropout *next; /* dropout of the output of the sublayer before, whose backward comes next; NULL means that
                            there is none in this stage; set before each sublayer's backward */
    bool dropped;        /* this rank's rows of dout are mask · dx */
} ResidualGrad;

/* The gradient dx, and scratch memory for dout, which the caller frees. */
ResidualGrad residual_grad_begin(const Ctx *cx, Tensor dx);
/* norm_bwd with grad->dx as dx; with `drop` also writes this rank's rows of dout = mask · dx, which may be dy. */
void residual_norm_bwd(const Ctx *cx, ResidualGrad *grad, const Dropout *drop, Tensor dy, Tensor residual,
                       NormBack back);

/* What backward needs of the input of a sublayer. */
typedef struct SublayerSave {
    NormSave norm;
    Tensor n; /* (n,C) the input of f, this rank's rows */
} SublayerSave;

/* A sublayer f, such as attention, with its norm and the residual sum around it, which work on this rank's rows:
 *   pre-LN   y = x + dropout(f(norm(x)))
 *   post-LN  y = norm(x + dropout(f(x)))
 *   no norm  y = x + dropout(f(x)), if w.w is absent
 * f itself works on all rows, some heads or channels. sublayer_enter returns its input (N,C), gathered from all ranks;
 * sublayer_leave takes out (N,C) = f(…), what this rank adds to the output, which is overwritten. Afterwards the stream
 * is y, whose sum may still be to come. */
Tensor sublayer_enter(const Ctx *cx, Residual *stream, NormW w, SublayerSave *save);
void sublayer_leave(const Ctx *cx, Residual *stream, Tensor y, Tensor out, DropoutSite site, NormW w,
                    SublayerSave *save);
/* In backward: what sublayer_enter has returned, gathered again. */
Tensor sublayer_input(const Ctx *cx, const SublayerSave *save);
/* Backward order: sublayer_leave_bwd, backward of f, sublayer_enter_bwd. grad->dx holds dy on entry. Returns
 * grad->dout, the gradient of `out` of all ranks' rows. With post-LN dx becomes the gradient of the sum x +
 * dropout(f(x)). */
Tensor sublayer_leave_bwd(const Ctx *cx, ResidualGrad *grad, DropoutSite site, NormW w, NormW g, float beta,
                          const SublayerSave *save);
/* dn (N,C) is what this rank adds to the gradient of f's input; it may be grad->dout, and is overwritten. With pre-LN
 * dx += dn through the backward pass of the norm; otherwise dx += dn. */
void sublayer_enter_bwd(const Ctx *cx, ResidualGrad *grad, Tensor dn, NormW w, NormW g, float beta,
                        const SublayerSave *save);

/* Weights of the feed-forward sublayer. Gated: wi (2F,C) has the parts wi_0 (F,C), wi_1 (F,C). Else wi (F,C). */
typedef struct MlpW {
    NormW norm;
    Linear wi, wo; /* wo (C,F) */
} MlpW;

typedef struct MlpSave {
    SublayerSave in;
    Tensor h; /* n wiᵀ, before the activation: (N,F), or (N,2F) if gated */
    Tensor a; /* (N,F) after activation, gate and dropout; kept because drawing the mask again is slow */
} MlpSave;

/* The feed-forward sublayer: f(n) = a woᵀ, with the norm and the residual sum of sublayer_enter; afterwards the
 * stream is y (N,C). Gated: a = dropout(act(n wi_0ᵀ) ⊙ (n wi_1ᵀ)), else a = dropout(act(n wiᵀ)). */
void mlp_fwd(const Ctx *cx, Residual *stream, Tensor y, const MlpW *w, MlpSave *save);
/* grad->dx holds dy on entry and the gradient of x on return. */
void mlp_bwd(const Ctx *cx, ResidualGrad *grad, const MlpW *w, const MlpW *g, float beta, const MlpSave *save);

/* A layer between the last block and a head's projection: BERT's transform before the vocabulary, or its pooler. */
typedef struct TransformW {
    Linear dense; /* (C,C) */
    NormW norm;   /* absent in the pooler */
} TransformW;

typedef struct TransformSave {
    Tensor x, h; /* (L,C) each: x is the input, h = x denseᵀ + bias. L: tokens with a target, or pooled sequences */
    NormSave norm;
} TransformSave;

/* y (L,C) = norm(activation(x denseᵀ)). */
void transform_fwd(const Ctx *cx, Tensor y, Tensor x, const TransformW *w, Activation activation, TransformSave *save);
/* Backward of transform_fwd: dx (L,C) and the weight gradients g; dx may be dy (in place). */
void transform_bwd(const Ctx *cx, Tensor dx, Tensor dy, const TransformW *w, Activation activation, const TransformW *g,
                   float beta, const TransformSave *save);

/* The embeddings of an encoder or decoder: of tokens, positions and token types. */
typedef struct EmbeddingW {
    Tensor table;         /* (V,C) by token id; with tensor-parallel ranks, the rows of this rank */
    Tensor positions;     /* (P,C) by position id: learned, or sinusoids (no gradient); absent with other positions */
    Tensor token_types;   /* (number of token types, C); absent if the model has none */
    Tensor memory_tokens; /* (M,C): the learned tokens before every sequence; absent if the model has none */
    NormW norm;           /* norm of the sum of the embeddings; absent if the model has none */
} EmbeddingW;

/* y (N,C) = dropout(norm(embed_scale table[id] + positions[position_id] + token_types[token_type])) for each token. At
 * a memory token, memory_tokens[memory_index], not scaled, replaces the scaled table[id]. */
void embedding_fwd(const Ctx *cx, Tensor y, const EmbeddingW *w, NormSave *save);
/* g.table = table_beta g.table + new: the table is in another bucket. All other gradients: g = beta g + new. */
void embedding_bwd(const Ctx *cx, Tensor dy, const EmbeddingW *w, const EmbeddingW *g, float beta, float table_beta,
                   const NormSave *save);

/* A head: logits = scale t(x) wᵀ + b, where t is `transform` or the identity. dw, db, dtransform: gradients. */
typedef struct HeadW {
    Tensor w, dw;    /* (V,C); dw is absent if no gradient is wanted. V: vocabulary, or number of classes */
    bool vocabulary; /* the classes are the tokens of the vocabulary: each tensor-parallel rank has the rows of some */
    Tensor b, db;    /* (V), or absent */
    const TransformW *transform, *dtransform; /* NULL means the identity */
    Activation activation;                    /* activation of the transform */
    float scale;                              /* factor on the logits, without the bias */
    int64_t n_ids; /* without gradients: later tokens only pad the vocabulary and have no probability; 0: none do */
    float beta;    /* gradients: g = beta g + new */
} HeadW;

/* Rows of the last block's output that have a target. */
typedef struct HeadRows {
    Tensor rows;    /* (L) i32 distinct row indices into x (N,C); L > 0 */
    Tensor targets; /* (L) i32 classes. If ranks divide the vocabulary: the class minus head_first_token of this rank,
                       or -1 if another rank has the class */
    Tensor weights; /* (L) f32: factor on the loss of a row; 0 means ignored */
} HeadRows;

/* The first token of the vocabulary whose logits tensor-parallel rank `rank` computes; those of the next rank begin
 * where these end. */
int64_t head_first_token(const Ctx *cx, int rank);
/* Logits of n rows are computed in chunks of this many: the fewest about equal chunks within a limit on memory. */
int64_t head_chunk_rows(int64_t vocab, const Precision *precision, int64_t n);
/* Cross-entropy over the V classes of each of L rows. Computes the logits of one chunk of rows at a time, never all
 * (L,V). sums (XENT_STATS) f64 = the statistics of op_xent summed over L. With xent->grad, adds the gradient to dx
 * (N,C) and writes the gradients of the head. */
void head_loss(const Ctx *cx, Tensor sums, Tensor dx, Tensor x, const HeadW *head, const HeadRows *rows,
               const XentSpec *xent);
/* Computes the logits (N,V) f32 of x (N,C) into host memory; waits for the device. */
void head_logits(const Ctx *cx, float *logits, Tensor x, const HeadW *head);
/* The most likely classes of each row of x (N,C), and log Σ exp of its logits: the shapes are those of op_top. */
void head_top(const Ctx *cx, Tensor values, Tensor ids, Tensor log_sum, Tensor x, const HeadW *head);
