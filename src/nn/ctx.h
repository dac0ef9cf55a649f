/* ctx.h: the context (Ctx) that every layer receives besides tensors and weights, and the conventions of this folder.
 *
 * Dimensions, one letter each:
 *   N  tokens of the stream      E  tokens of the encoder output     S  sequences
 *   L  tokens with a target      V  vocabulary size                  C  width of the model
 *   H  query heads               D  channels of a head               A  = H D, width of the queries
 *   K  = kv_heads D, width of the keys, and of the values            F  width of the feed-forward layer
 *   Tq, Tk  lengths of the queries and of the keys of a sequence     P  rows of a position table
 *   M  memory tokens per sequence                                    R  rank of an adapter (LoRA)
 *
 * dx is the gradient of x. A backward function takes dx and dy, or one tensor dx that holds dy on entry, then the
 * arguments of its forward function. Weights are (out, in), as Hugging Face stores them. Structs of weights end in W; a
 * struct of gradients has the type of its weights. Activation gradients overwrite their tensor (=). Weight gradients: g
 * = beta g + new; beta, from grads_acquire, is 0 if the old g must not be read, as at the first addition of a step,
 * else 1.
 *
 * The residual stream has one gradient buffer: backward of a sublayer finds dy in it and leaves dx there. Tensors that
 * backward needs lie in the arena `save`; a struct whose name ends in Save lists them. A layer frees its memory in the
 * arena `scratch` before it returns. */
#pragma once

#include "comm/context_parallel.h"
#include "comm/tensor_parallel.h"
#include "nn/tokens.h"
#include "param/fp8.h"

/* Where dropout is applied. The value is part of the key of the random numbers, so these values never change. A site in
 * the decoder has this value + 16 in the key. */
typedef enum DropoutSite {
    SITE_EMBED,         /* the embedding */
    SITE_SELF_PROBS,    /* probabilities of self-attention */
    SITE_SELF_OUT,      /* output of self-attention, before the residual sum */
    SITE_CROSS_PROBS,   /* probabilities of cross-attention */
    SITE_CROSS_OUT,     /* output of cross-attention */
    SITE_MLP_HIDDEN,    /* after the activation of the feed-forward layer */
    SITE_MLP_OUT,       /* output of the feed-forward layer */
    SITE_FINAL,         /* after the final norm of the encoder or decoder */
    SITE_CONTEXT_PROBS, /* probabilities of the pooling of context-dependent queries */
    SITE_CLASSIFIER_IN, /* input of Classifier's dense layer */
    SITE_CLASSIFIER,    /* input of a classifier's projection to the classes */
    SITE_COUNT
} DropoutSite;

/* RMSNorm or LayerNorm; NormW in layers.h has the formulas. */
typedef enum NormKind { NORM_RMS, NORM_LAYER } NormKind;

/* Settings that all layers of a model share; fixed for a run. */
typedef struct ModelSpec {
    int32_t heads, kv_heads;       /* number of query heads, and of key and value heads, that this rank computes */
    int32_t first_head, all_heads; /* index of this rank's first query head within the layer; query heads of the layer,
                                      more than `heads` if tensor-parallel ranks divide them */
    int64_t vocab;                 /* size of the vocabulary */
    Activation activation;         /* activation function of the feed-forward layers */
    NormKind norm;
    bool post_norm;     /* post-LN: y = norm(x + f(x)); else pre-LN: y = x + f(norm(x)) */
    float eps;          /* epsilon of the norms */
    float score_scale;  /* factor on the products q·k of attention */
    bool distance_keys; /* distance embeddings are multiplied with keys as well as with queries (AttnDistance.keys) */
    float embed_scale;  /* factor on the token embedding */
    float dropout;      /* dropout rate of the embedding and of the outputs of sublayers */
    float attention_dropout, activation_dropout,
        final_dropout;              /* dropout rates at the sites *_PROBS, at SITE_MLP_HIDDEN, at SITE_FINAL */
    float lora_scale, lora_dropout; /* factor and dropout rate of adapters: see linear_fwd */
} ModelSpec;

/* Settings of one layer; fixed for a run. */
typedef struct LayerSpec {
    int index;                 /* number of the block in its stack; 0 for the embedding and the final norm */
    int block;                 /* number of the block in the model: decoder blocks follow the encoder's */
    bool decoder;              /* the layer belongs to the decoder: self-attention is causal */
    int32_t window;            /* window of self-attention, see AttnSpec.window; 0 means none */
    const BlockLayout *layout; /* block-sparse layout of self-attention; NULL means dense attention */
    float score_rescale;       /* index + 1 with model.qk_layer_scaling, see AttnSpec.rescale; 0 means none */
    bool local_rotary;         /* uses the rotary angles Ctx.rotary[1]: true in a block with a window */
    RelposSpec relpos;         /* relative-position buckets; RelposSpec.first is set at each use */
} LayerSpec;

/* Context of a layer in a pass over the tokens of the encoder or decoder. Callers set `layer`; layers only read. */
typedef struct Ctx {
    Device *dev;
    Precision precision; /* precision.compute: of activations; .residual: of the residual stream and its gradient */
    const ModelSpec *model;
    const LayerSpec *layer;
    Arena *save;                  /* activations kept for backward */
    Arena *scratch;               /* temporaries; each layer resets it to where it was */
    const Tokens *tokens;         /* the N tokens of the activations x (N,C) */
    const Tokens *encoder_tokens; /* the E tokens of the encoder output; NULL without cross-attention */
    Tensor rotary[2];   /* (P, rotated channels of a head) angles of rotary positions, [0] for blocks without a window,
                           [1] for those with one; absent means no rotary positions */
    uint64_t seed;      /* seed of the dropout masks of this update */
    bool train;         /* dropout is applied */
    bool forget;        /* no backward follows: what it would need may be overwritten once the next layer has read it */
    TensorParallel *tp; /* ranks that divide heads and feed-forward channels; NULL means no such ranks */
    ContextParallel *context; /* ranks that divide the tokens (nn/context.h); NULL means no such ranks */
    bool sequence;            /* with tp->sequence: the residual stream has only this rank's rows (nn/rows.h) */
    const Fp8Scales *fp8;     /* scales for FP8 in the linear layers of blocks; NULL means no FP8 */
} Ctx;

/* The Dropout of a site in the current layer, cx->layer; its rate is 0 unless cx->train. */
Dropout ctx_dropout(const Ctx *cx, DropoutSite site);
/* Where to write the gradient of w: g, or if w is frozen and g absent, unused scratch memory of w's shape. */
Tensor ctx_gradient(const Ctx *cx, Tensor g, Tensor w);
/* The residual stream t in the dtype precision.compute: t itself if it has this dtype, else a copy in `save`. */
Tensor ctx_activation(const Ctx *cx, Tensor t);
/* AttnSpec with the model's heads and scale: query sequence i attends to key sequence i, without mask, window or bias.
 * If keys->first is present, the keys lie in a key/value cache. */
AttnSpec ctx_attention(const Ctx *cx, const Sequences *queries, const Sequences *keys);
