/* ops.h: the semantic operations and their front door. op_*() checks shapes and dtypes once (a mismatch is a bug:
 * CHECK) and calls the backend's table; backends trust it. No GLib here.
 *
 * Rules: outputs first, then inputs, then options. An activation gradient is written (=). A parameter gradient takes
 * `beta`: d = beta d + new (0 at the first touch of a step: what was there is not read; then 1). Floating tensors of
 * one call share one dtype, f32 on the cpu, f64 on the reference backend, unless said otherwise. In-place use is
 * allowed only where said. H heads of D channels lie side by side: (N, H·D). N tokens, C width, V vocabulary. */
#pragma once

#include "base/philox.h"
#include "device/tensor.h"

typedef struct Device Device;

/* Block-sparse attention: blocks of `size` tokens (a multiple of 4), counted from each sequence's start. Queries of
 * block r of head h see key blocks keys[first[c]] … keys[first[c + 1] - 1], in rising order, where c = h·blocks + r, or
 * r where all heads are alike (heads 1). No sequence is longer than `blocks` blocks. */
typedef struct BlockLayout {
    int32_t size, blocks, heads;
    const int32_t *first, *keys; /* (heads·blocks + 1), host memory */
} BlockLayout;

/* Embeddings of distances, which take part in the scores (Shaw et al. 2018, Huang et al. 2020): score(i,j) = scale·(q·k
 * + q·e), with `keys` + scale·k·e, where e is the row of `table` (2M-1,D) that lies the distance i + (Tk - Tq) - j
 * behind the middle one. All heads share them. dtable takes beta; backward alone reads it. */
typedef struct AttnDistance {
    Tensor table, dtable;
    float beta;
    bool keys;
} AttnDistance;

/* Which query may see which key, over packed sequences. Rows of a tensor that no sequence covers (a stream filled below
 * its capacity) get zeros, forward and backward. */
typedef struct AttnSpec {
    const int32_t *cu_q, *cu_k; /* n_seq + 1 cumulative lengths, host memory */
    const int32_t *prefix;      /* NULL, or (n_seq): so many first keys are seen by every query, causal or not */
    int32_t n_seq, max_q, max_k;
    int32_t heads, kv_heads; /* kv_heads 0: as many; else query head h reads key head h / (heads / kv_heads) */
    int32_t window; /* 0: none; else keys further than this from the query, |j - i - (Tk - Tq)|, are not seen */
    bool causal;    /* key j is seen by query i if j - i <= Tk - Tq: the last query sees every key */
    float scale;    /* on q·k; T5: 1 */
    float rescale; /* 0: none; else q·k is computed smaller by it and multiplied by it before the softmax (Megatron) */
    const BlockLayout *layout; /* NULL: none; else only keys of the blocks of query i + Tk - Tq, and of those only such
                                  as the rest lets through */
    const AttnDistance *distance; /* NULL: none; else there is neither a bias nor a layout */
} AttnSpec;

static inline int32_t attn_kv_heads(const AttnSpec *spec)
{
    return spec->kv_heads ? spec->kv_heads : spec->heads;
}
/* Keys that query i of sequence s sees, layout aside: [*begin, *end), *begin <= *end; neither falls as i grows. */
void attn_visible(const AttnSpec *spec, int32_t s, int64_t i, int64_t *begin, int64_t *end);
/* Where in layout->first the key blocks begin that the query at `position` of its sequence sees. */
static inline const int32_t *attn_layout_row(const BlockLayout *layout, int32_t head, int64_t position)
{
    return layout->first + (layout->heads == 1 ? 0 : (int64_t)head * layout->blocks) + position / layout->size;
}

/* Elementwise dropout over rows of tokens; rate 0 switches it off and nothing else is read. The mask is a function of
 * (key, sample, position, channel): see base/philox.h. */
typedef struct Dropout {
    PhiloxKey key;
    float rate;
    const int64_t *sample;   /* (N) global sample index of each row */
    const int32_t *position; /* (N) token position in its sample */
} Dropout;

typedef enum Activation { ACT_RELU, ACT_GELU_TANH, ACT_GELU_ERF, ACT_SILU, ACT_TANH, ACT_COUNT } Activation;
extern const char *const activation_names[]; /* "relu", "gelu_tanh", "gelu_erf", "silu", "tanh", NULL */

typedef enum RelposRule { RELPOS_T5, RELPOS_AST } RelposRule;

/* Buckets of relative positions; `first` is the relative position (key - query) of column 0. AST-T5's rule looks both
 * ways always. */
typedef struct RelposSpec {
    int32_t first, n_buckets, max_distance;
    RelposRule rule;
    bool bidirectional;
} RelposSpec;
int32_t relpos_bucket(int32_t relative, const RelposSpec *spec); /* integer thresholds, exact at 16, 32, 64 */
double alibi_slope(int32_t head, int32_t heads);                 /* Press et al. 2022, any number of heads */

typedef struct XentSpec {
    float label_smoothing, z_loss;
    float scale; /* of the gradient: 1 / number of target tokens of the whole batch */
    bool grad;   /* false: logits are left alone and only the statistics are written */
} XentSpec;
enum { XENT_LOSS, XENT_NLL, XENT_CORRECT, XENT_WEIGHT, XENT_STATS }; /* columns of the statistics */

/* What changes from step to step; lives in memory of the device, not in arguments. */
typedef struct StepScalars {
    float lr;       /* of this update, schedule included */
    float clip;     /* factor on every gradient; 1 when not clipped */
    int64_t update; /* u = 1, 2, … */
} StepScalars;

typedef struct AdamwSpec {
    double beta1, beta2, eps, weight_decay;
    /* AdamW with RMS scaling (nanoT5's AdamWScale): step × max(1e-3, rms(w)), and eps joins √v before its bias is
     * corrected: w -= lr·max(1e-3, rms(w))·√(1−β2ᵗ)/(1−β1ᵗ) · m/(√v + eps). */
    bool scale_by_rms;
} AdamwSpec;

typedef struct AdafactorSpec {
    double eps1, eps2;     /* 1e-30, 1e-3 */
    double clip_threshold; /* 1.0; 0: off */
    double decay_rate;     /* 0.8: beta2 = 1 - t^-0.8, t = update + step_offset */
    double beta1;          /* 0: no momentum */
    double weight_decay;   /* already decided per parameter */
    int64_t step_offset;
    bool scale_parameter; /* α = lr × max(eps2, rms(w)) */
    bool decay_by_lr;     /* w *= 1 - weight_decay × α (Hugging Face); false: w *= 1 - weight_decay (T5X) */
} AdafactorSpec;

/* y (M,N) = alpha · op(a) op(b) + beta · y, where op transposes if ta / tb. beta 0 does not read y. */
void op_gemm(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta);
/* y (N,C) = table (V,C) [ids (N) i32]. */
void op_embedding_fwd(Device *dev, Tensor y, Tensor table, Tensor ids);
void op_embedding_bwd(Device *dev, Tensor dtable, Tensor dy, Tensor ids, float beta);
/* y = x · rstd · w; rstd (N) f32 (f64 on reference) = 1/sqrt(mean(x²) + eps), statistics in f32. */
void op_rmsnorm_fwd(Device *dev, Tensor y, Tensor rstd, Tensor x, Tensor w, float eps);
/* dx = residual + d(norm); residual may be NO_TENSOR or be dx itself, dx may be dy. dw (C) takes beta. */
void op_rmsnorm_bwd(Device *dev, Tensor dx, Tensor dw, Tensor dy, Tensor x, Tensor w, Tensor rstd, Tensor residual,
                    float beta);
/* y = (x - mean) · rstd · w + b; mean, rstd (N) like rmsnorm's; b (C) may be NO_TENSOR. */
void op_layernorm_fwd(Device *dev, Tensor y, Tensor mean, Tensor rstd, Tensor x, Tensor w, Tensor b, float eps);
/* As op_rmsnorm_bwd; db (C), NO_TENSOR where there is no b, takes beta too. */
void op_layernorm_bwd(Device *dev, Tensor dx, Tensor dw, Tensor db, Tensor dy, Tensor x, Tensor w, Tensor mean,
                      Tensor rstd, Tensor residual, float beta);
/* y = x + b (C) on every row; y may be x. */
void op_bias_add(Device *dev, Tensor y, Tensor x, Tensor b);
/* db (C) = beta db + Σ over rows of dy. */
void op_bias_bwd(Device *dev, Tensor db, Tensor dy, float beta);
/* y = factor · x; y may be x. */
void op_scale(Device *dev, Tensor y, Tensor x, float factor);
/* y = residual + dropout(x); residual may be NO_TENSOR; y may be x or residual. */
void op_dropout_fwd(Device *dev, Tensor y, Tensor x, Tensor residual, const Dropout *drop);
/* dx = dropout mask · dy; dx may be dy. */
void op_dropout_bwd(Device *dev, Tensor dx, Tensor dy, const Dropout *drop);
/* a = dropout(act(h)) or, gated, dropout(act(h) · gate); gate may be NO_TENSOR. a may be h. */
void op_act_fwd(Device *dev, Tensor a, Tensor h, Tensor gate, Activation act, const Dropout *drop);
/* dh, dgate from da; dh may be da. dgate is NO_TENSOR where gate is. */
void op_act_bwd(Device *dev, Tensor dh, Tensor dgate, Tensor da, Tensor h, Tensor gate, Activation act,
                const Dropout *drop);
/* bias (H,T) = table (n_buckets,H) by bucket of relative position spec->first + column. */
void op_relpos_fwd(Device *dev, Tensor bias, Tensor table, const RelposSpec *spec);
void op_relpos_bwd(Device *dev, Tensor dtable, Tensor dbias, const RelposSpec *spec, float beta);
/* bias (H,T) = -slope of the head · |first + column|: attention with linear biases. */
void op_alibi(Device *dev, Tensor bias, int32_t first);
/* table (T,C), C even and at least 4: row t holds sin((first + t)·f_c), c < C/2, then cos, f_c = 10000^(-c/(C/2 - 1)).
 */
void op_sinusoid_table(Device *dev, Tensor table, int32_t first);
/* table (T,R): row t holds cos(t·f_c), c < R/2, then sin(t·f_c), f_c = base^(-2c/R). */
void op_rotary_table(Device *dev, Tensor table, double base);
/* In place, the first R channels of each head of x (N,H·head_dim): the pair (c, c + R/2) turns by the angles of row
 * place[n] (N i32) of the table, backwards if `inverse`, which undoes it and is its gradient. */
void op_rotary(Device *dev, Tensor x, Tensor table, Tensor place, int32_t head_dim, bool inverse);
/* o (Nq,H·D); lse (H,Nq) log-sum-exp of the scores, kept for backward; q (Nq,H·D), k, v (Nk,KV·D); bias (H,
 * max_q+max_k-1) or NO_TENSOR: score(i,j) += bias[h][j - i + max_q - 1]. Dropout falls on the probabilities:
 * drop->sample gives the sample of each query row, drop->position its position, the key's position is its index in its
 * sequence. */
void op_attn_fwd(Device *dev, Tensor o, Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec,
                 const Dropout *drop);
/* dq, dk, dv written; dbias (same shape as bias, f32/f64) takes beta_bias, or NO_TENSOR. */
void op_attn_bwd(Device *dev, Tensor dq, Tensor dk, Tensor dv, Tensor dbias, float beta_bias, Tensor dout, Tensor o,
                 Tensor lse, Tensor q, Tensor k, Tensor v, Tensor bias, const AttnSpec *spec, const Dropout *drop);
/* Over rows of logits (n,V): stats (n,4) = {loss with smoothing and z-loss, nll, argmax is target, weight}, each ×
 * weight; with spec->grad the logits become d(Σ loss)·scale. targets (n) i32, weights (n). A row of weight 0 becomes
 * zeros. loss = −Σ q log p + z·logZ² − C, C the entropy of the smoothed target (T5X), so that a perfect model has loss
 * 0. */
void op_xent(Device *dev, Tensor logits, Tensor stats, Tensor targets, Tensor weights, const XentSpec *spec);
/* out (C) f64 = beta·out + Σ over rows of x (N,C), summed in double. */
void op_sum_rows(Device *dev, Tensor out, Tensor x, float beta);
/* out (1) f64 = beta·out + Σ x². */
void op_sumsq(Device *dev, Tensor out, Tensor x, float beta);
void op_fill(Device *dev, Tensor x, double value);
void op_copy(Device *dev, Tensor y, Tensor x); /* casts where the dtypes differ; same shape */
/* ids (N) i32 of the largest logit of each row; the lowest index wins ties. */
void op_argmax(Device *dev, Tensor ids, Tensor logits);
/* Updates w in place from g (× scalars->clip). m, v of w's shape. */
void op_adamw(Device *dev, Tensor w, Tensor m, Tensor v, Tensor g, const AdamwSpec *spec, const StepScalars *scalars);
/* Factored if row (rows) and col (cols) are present, else v (w's shape); m (w's shape) with beta1 > 0, else NO_TENSOR.
 * u is scratch of w's shape. Formula: Shazeer & Stern 2018 as in T5X and Hugging Face. */
void op_adafactor(Device *dev, Tensor w, Tensor row, Tensor col, Tensor v, Tensor m, Tensor g, Tensor u,
                  const AdafactorSpec *spec, const StepScalars *scalars);
