/* nn.h: layers, forward and backward, over rows of tokens.
 *
 * Legend: N tokens (rows), M rows of the encoder's output, C width, A attention width H·D, F ffn width, H heads, D head
 * size, V vocabulary, Tq / Tk lengths. dx is the gradient of x. Backward takes dx, dy, then what forward took. Weights
 * are (out, in), as Hugging Face stores them, and a struct of gradients is a struct of weights. Activation gradients
 * are written; parameter gradients take g_beta of the context (0 at the first touch of a step, then 1).
 *
 * The residual stream has one gradient buffer: a sublayer's backward finds dy in it and leaves dx there. What backward
 * needs is kept in the arena `save`, by tensors in a Save struct; `scratch` is given back when a layer returns. */
#pragma once

#include "data/batch.h"
#include "device/device.h"

/* Where dropout falls; part of the Philox key, so values are stable. + 16 for decoder streams. */
typedef enum DropoutSite {
    SITE_EMBED,
    SITE_SELF_PROBS,
    SITE_SELF_OUT,
    SITE_CROSS_PROBS,
    SITE_CROSS_OUT,
    SITE_MLP_HIDDEN,
    SITE_MLP_OUT,
    SITE_FINAL,
    SITE_CONTEXT_PROBS
} DropoutSite;

typedef enum NormKind { NORM_RMS, NORM_LAYER } NormKind;

/* A stream of a batch as layers read it: its numbers in memory of the device, and on the host what sizes follow from.
 * The stream stays where it is. */
typedef struct Rows {
    int32_t n_rows, n_seq, max_len;
    Tensor ids, place, segment; /* (n_rows) i32 */
    Tensor position, sample;    /* (n_rows) i32, i64: what dropout masks depend on; absent where there is no dropout */
    Tensor starts;              /* (n_seq) i32: the first row of each sequence */
    BothSides cu, prefix;       /* as in AttnSpec */
    /* Where learned memory stands before each sequence, (n) i32: its rows, and the row of the memory that each holds;
     * (n_rows - n) text: the other rows that belong to a sequence. Absent where there is no memory. */
    Tensor memory_at, memory_row, text;
} Rows;

/* Into `arena`, which is measured by any stream of as many rows. */
Rows rows_upload(Device *dev, Arena *arena, const TokenStream *stream);
/* The first n_memory rows of each sequence hold memory. */
void rows_upload_memory(Rows *rows, Device *dev, Arena *arena, int32_t n_memory);
/* (n) i32 of the host, in a place for `room`. */
Tensor indices_upload(Device *dev, Arena *arena, const int32_t *from, int64_t n, int64_t room, const char *tag);
BothSides both_sides(const int32_t *host, Tensor device);

typedef struct Ctx {
    Device *dev;
    Arena *save;             /* activations kept for backward */
    Arena *scratch;          /* marked and reset within a layer */
    DType dtype;             /* of activations */
    const Rows *rows;        /* the stream whose rows the activations are */
    const Rows *memory_rows; /* the encoder's, where the activations are the decoder's */
    int32_t heads, kv_heads;
    Activation activation, head_activation; /* of the mlp, and of BERT's transform before the vocabulary */
    NormKind norm;
    bool norm_after;           /* of a sublayer's sum with its input (post-LN), not of its input */
    float score_scale;         /* on q·k */
    float score_rescale;       /* of the layer, as in AttnSpec */
    bool distance_keys;        /* keys too are multiplied with embeddings of distances, not queries alone */
    bool decoder;              /* self-attention is causal */
    int layer;                 /* block number in its stack */
    int32_t window;            /* of the layer's self-attention, as in AttnSpec */
    const BlockLayout *layout; /* of the same, or NULL */
    Tensor rotary;             /* (T,R) of the layer, or NO_TENSOR */
    RelposSpec relpos;         /* of a block that has a table of its own; `first` follows from the rows */
    float embed_scale;         /* on the rows of the embedding */
    /* Rates, 0 when not training: of embeddings and outputs, attention weights, the mlp's hidden activations, and after
     * the final norm. */
    float dropout, attention_dropout, activation_dropout, final_dropout;
    uint64_t seed;
    float eps;    /* of the norms */
    float g_beta; /* of the gradients acquired last */
} Ctx;

/* The Dropout of a site at the context's layer and stream. */
Dropout ctx_dropout(const Ctx *cx, DropoutSite site);

/* w (out,in); b (out) or NO_TENSOR. */
typedef struct LinearW {
    Tensor w, b;
} LinearW;

/* y (N,out) = x (N,in) · wᵀ + b. */
void linear_fwd(Ctx *cx, Tensor y, Tensor x, LinearW w);
/* dx = beta dx + dy · w: beta is 1 where several layers read the same x. */
void linear_bwd_input(Ctx *cx, Tensor dx, Tensor dy, LinearW w, float beta);
void linear_bwd_weight(Ctx *cx, LinearW g, Tensor dy, Tensor x);
void linear_bwd(Ctx *cx, Tensor dx, Tensor dy, Tensor x, LinearW w, LinearW g);

/* RMSNorm: y (N,C) = x · rstd · w (C). LayerNorm: y = (x - mean) · rstd · w + b, b NO_TENSOR where there is none. */
typedef struct NormW {
    Tensor w, b;
} NormW;

typedef struct NormSave {
    Tensor x;
    Tensor mean, rstd; /* (N): recomputing them costs a full read of x; mean is LayerNorm's */
} NormSave;

void norm_fwd(Ctx *cx, Tensor y, Tensor x, NormW w, NormSave *save);
/* dx = residual + d(norm); residual is NO_TENSOR or dx itself; dx may be dy. */
void norm_bwd(Ctx *cx, Tensor dx, Tensor dy, Tensor residual, NormW w, NormW g, const NormSave *save);

/* A sublayer f with its norm: y = x + dropout(f(norm(x))), or y = norm(x + dropout(f(x))) where the norm comes after;
 * without a norm (w.w absent) y = x + dropout(f(x)). The first returns what f reads. */
Tensor sublayer_enter(Ctx *cx, Tensor x, NormW w, NormSave *save);
void sublayer_leave(Ctx *cx, Tensor y, Tensor x, Tensor out, DropoutSite site, NormW w, NormSave *save);
/* dout (N,C) from the dy that dx holds; then, given dn of what f read, dx becomes the sublayer's. */
void sublayer_leave_bwd(Ctx *cx, Tensor dout, Tensor dx, DropoutSite site, NormW w, NormW g, const NormSave *save);
void sublayer_enter_bwd(Ctx *cx, Tensor dx, Tensor dn, NormW w, NormW g, const NormSave *save);

/* y (N,C) = dropout(norm(embed_scale · table (V,C) [ids] + positions [place] + segments [segment])) of the stream's
 * rows; all but the table may be absent, and so may the gradient of positions that are not learned. With memory (m,C)
 * the first m rows of each sequence take that in place of the table. */
typedef struct EmbedW {
    Tensor table, positions, segments, memory;
    NormW norm;
} EmbedW;

typedef struct EmbedSave {
    NormSave norm;
} EmbedSave;

void embed_fwd(Ctx *cx, Tensor y, const EmbedW *w, EmbedSave *save);
/* The table belongs to another bucket than the rest: its gradient takes table_beta. */
void embed_bwd(Ctx *cx, Tensor dy, const EmbedW *w, const EmbedW *g, float table_beta, const EmbedSave *save);

/* Queries of rows and of what each head pools of their sequence: hidden (C,C) and score (H,C) weigh the rows, mix
 * (C,2C) takes what was pooled left and a row right, q (D,C) is the same for all heads. */
typedef struct ContextQueryW {
    Tensor hidden, score, mix, q;
} ContextQueryW;

typedef struct ContextQuerySave {
    Tensor h, a;  /* (N,C) n · hiddenᵀ, and relu of it */
    Tensor mixed; /* (N,C) what mix makes of the rows */
} ContextQuerySave;

/* q (N,A) of n (N,C). */
void context_query_fwd(Ctx *cx, Tensor q, Tensor n, const ContextQueryW *w, ContextQuerySave *save);
/* dn is added to. */
void context_query_bwd(Ctx *cx, Tensor dn, Tensor dq, Tensor n, const ContextQueryW *w, const ContextQueryW *g,
                       const ContextQuerySave *save);

/* Self-attention uses qkv; cross-attention q and kv. q (A,C), k and v (B,C), kv (2B,C), qkv (A+2B,C) overlap; o (C,A).
 * B = kv_heads · D. relpos (buckets,H): the table of a block that does not share its stack's bias, else absent.
 * With context, which takes the place of q, self-attention has k over v in qkv. distance (2M-1,D): embeddings of
 * distances, where scores hold products with them. */
typedef struct AttentionW {
    NormW norm;
    LinearW q, k, v, qkv, kv, o;
    Tensor relpos;
    ContextQueryW context;
    Tensor distance;
} AttentionW;

/* Queries (N,A), keys and values (N,B or M,B): column slices of qkv (N,A+2B), or q (N,A) and slices of kv (N or M,2B).
 */
typedef struct Projections {
    Tensor q, k, v, qkv, kv;
} Projections;

typedef struct AttentionSave {
    NormSave norm;
    Tensor n;      /* (N,C) norm(x), or x */
    Tensor memory; /* (M,C), or NO_TENSOR: self-attention */
    Projections p;
    Tensor bias; /* (H, Tq + Tk - 1) or NO_TENSOR; of the block's own table where it has one */
    Tensor o;    /* (N,A) */
    Tensor lse;  /* (H,N) */
    ContextQuerySave context;
} AttentionSave;

/* A sublayer: f(n) = attention(n, memory or n) · oᵀ. Causal where the context is the decoder's and memory is absent. */
void attention_fwd(Ctx *cx, Tensor y, Tensor x, Tensor memory, Tensor bias, const AttentionW *w, AttentionSave *save);
/* dx: dy before, dx after. dmemory (M,C) and dbias are added to: they belong to every block of the stack. Each is
 * NO_TENSOR where its input is. */
void attention_bwd(Ctx *cx, Tensor dx, Tensor dmemory, Tensor dbias, const AttentionW *w, const AttentionW *g,
                   const AttentionSave *save);

/* Where a step finds the keys and values of B sequences in the caches of self-attention, its own included. */
typedef struct CacheRows {
    BothSides cu_q, cu_k, first; /* as in AttnSpec: a query each */
    Tensor own;                  /* (B) i32: the row that takes the step's keys and values */
    int32_t n_seq, max_k, capacity;
} CacheRows;

/* Keys and values, k left, v right. Self-attention: `capacity` rows for each sequence. Cross-attention: the rows of the
 * memory. */
typedef struct AttentionCache {
    Tensor kv;
} AttentionCache;

/* attention_fwd of one row of each of B sequences, x and y (B,C; may be the same), which attends to the cache.
 * Self-attention appends the rows' own keys and values first; bias (H, T) ends with the distance 0. In cross-attention
 * the sequences of the context's rows are the rows that share a sequence of memory_rows. */
void attention_step_self(Ctx *cx, Tensor y, Tensor x, Tensor bias, const AttentionW *w, const AttentionCache *cache,
                         const CacheRows *rows);
void attention_step_cross(Ctx *cx, Tensor y, Tensor x, const AttentionW *w, const AttentionCache *cache);
/* Fills the cache of a cross-attention with the keys and values of memory (M,C). */
void attention_remember(Ctx *cx, AttentionCache *cache, Tensor memory, const AttentionW *w);

/* Gated: wi (2F,C) is wi_0 over wi_1; else wi (F,C) alone. wo (C,F). */
typedef struct MlpW {
    NormW norm;
    LinearW wi_0, wi_1, wi, wo;
} MlpW;

typedef struct MlpSave {
    NormSave norm;
    Tensor n; /* (N,C) norm(x), or x */
    Tensor h; /* (N,F) or (N,2F), before the activation */
    Tensor a; /* (N,F), after it, with dropout: making it again costs the random numbers of the mask */
} MlpSave;

/* A sublayer: f(n) = a · woᵀ, a = dropout(act(n · wi_0ᵀ) · (n · wi_1ᵀ)), the second factor if gated. */
void mlp_fwd(Ctx *cx, Tensor y, Tensor x, const MlpW *w, MlpSave *save);
/* dx: dy before, dx after. */
void mlp_bwd(Ctx *cx, Tensor dx, const MlpW *w, const MlpW *g, const MlpSave *save);

typedef struct BlockW {
    AttentionW self, cross; /* cross is absent in an encoder */
    MlpW mlp;
} BlockW;

typedef struct BlockSave {
    AttentionSave self, cross;
    MlpSave mlp;
} BlockSave;

/* The one transformer block: x, y (N,C); memory (M,C) adds cross-attention. */
void block_fwd(Ctx *cx, Tensor y, Tensor x, Tensor memory, Tensor bias, const BlockW *w, BlockSave *save);
/* dx: dy before, dx after. dmemory and dbias are added to. */
void block_bwd(Ctx *cx, Tensor dx, Tensor dmemory, Tensor dbias, const BlockW *w, const BlockW *g,
               const BlockSave *save);

typedef struct BlockCache {
    AttentionCache self, cross;
} BlockCache;

/* block_fwd of one row of each of a decoder's B sequences, without dropout: x and y (B,C), may be the same. */
void block_step(Ctx *cx, Tensor y, Tensor x, Tensor bias, const BlockW *w, const BlockCache *cache,
                const CacheRows *rows);

/* What BERT puts before its head: y (N,C) = norm(act(x · denseᵀ)). */
typedef struct TransformW {
    LinearW dense;
    NormW norm;
} TransformW;

typedef struct TransformSave {
    Tensor x, h;
    NormSave norm;
} TransformSave;

void transform_fwd(Ctx *cx, Tensor y, Tensor x, const TransformW *w, TransformSave *save);
void transform_bwd(Ctx *cx, Tensor dx, Tensor dy, const TransformW *w, const TransformW *g, const TransformSave *save);

/* Of the first row of each sequence: pooled = tanh(x · denseᵀ), and two classes of it, pooled · classesᵀ. */
typedef struct PoolerW {
    LinearW dense, classes;
} PoolerW;

/* pooled (n_seq, C) of x (N,C). */
void pooler_fwd(Ctx *cx, Tensor pooled, Tensor x, const PoolerW *w);

/* sums (XENT_STATS) f64 over the sequences, labels (n_seq) i32, weights (n_seq) 0 where a sequence has no label; with
 * xent->grad the gradient is added to dx (N,C). */
void sentence_loss(Ctx *cx, Tensor sums, Tensor dx, Tensor x, const PoolerW *w, const PoolerW *g, Tensor labels,
                   Tensor weights, const XentSpec *xent);

/* The head: logits = scale · t(x) · wᵀ + b, w (V,C), x (N,C), and their cross-entropy, a chunk of rows at a time: (N,V)
 * is never whole in memory. t is BERT's transform, or nothing. */
typedef struct HeadW {
    Tensor w, dw;                             /* dw is NO_TENSOR where no gradient is wanted */
    Tensor b, db;                             /* (V), NO_TENSOR where there is none */
    const TransformW *transform, *dtransform; /* NULL: none */
    float scale;
} HeadW;

/* sums (XENT_STATS) f64 = Σ of the statistics over `rows` (M) i32 of x (N,C), in order, no row twice: only they have a
 * loss. targets (M) i32, weights (M). With xent->grad, dx (N,C), 0 in every other row, and the head's gradients. M > 0.
 */
void head_loss(Ctx *cx, Tensor sums, Tensor dx, Tensor x, const HeadW *head, Tensor rows, Tensor targets,
               Tensor weights, const XentSpec *xent);
/* logits (N,V) f32, memory of the host; waits for them. */
void head_logits(Ctx *cx, float *logits, Tensor x, const HeadW *head);
