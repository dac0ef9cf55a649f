/* ctx.h: what every layer is given besides its tensors and weights, and the conventions of this folder.
 *
 * Dimensions, one letter each:
 *   N  tokens of the stream      E  tokens of the encoder output     S  sequences
 *   L  tokens with a target      V  vocabulary                       C  width
 *   H  heads                     D  channels of a head               A  = H D, width of the queries
 *   K  = kv_heads D, width of the keys, and of the values            F  width of the feed-forward layer
 *   Tq, Tk  lengths of the queries and of the keys of a sequence     P  positions
 *
 * dx is the gradient of x. Backward takes dx and dy, or dx alone that holds dy on entry, then what forward took.
 * Weights are (out, in), as Hugging Face stores them. Structs of weights end in W; a struct of gradients has the type
 * of its weights. Activation gradients overwrite (=). Weight gradients: g = beta g + new; beta is 0 at the first
 * addition of a step, when the old g is not read, then 1.
 *
 * The residual stream has one gradient buffer: backward of a sublayer finds dy in it and leaves dx there. What backward
 * needs is kept in the arena `save`, by the tensors of a Save struct; `scratch` is given back when a layer returns. */
#pragma once

#include "nn/tokens.h"
#include "param/fp8.h"

/* Where dropout is applied; part of the key of its random numbers, so these values never change. The decoder's keys are
 * 16 higher. */
typedef enum DropoutSite {
    SITE_EMBED,         /* the embedding */
    SITE_SELF_PROBS,    /* probabilities of self-attention */
    SITE_SELF_OUT,      /* output of self-attention, before the residual sum */
    SITE_CROSS_PROBS,   /* probabilities of cross-attention */
    SITE_CROSS_OUT,     /* output of cross-attention */
    SITE_MLP_HIDDEN,    /* after the activation of the feed-forward layer */
    SITE_MLP_OUT,       /* output of the feed-forward layer */
    SITE_FINAL,         /* after the final norm of a stack */
    SITE_CONTEXT_PROBS, /* probabilities of the pooling of context-dependent queries */
    SITE_CLASSIFIER_IN, /* input of a classifier's own layer */
    SITE_CLASSIFIER,    /* input of a classifier */
    SITE_COUNT
} DropoutSite;

typedef enum NormKind { NORM_RMS, NORM_LAYER } NormKind;

/* Fixed for a run: what all layers of a model have in common. */
typedef struct ModelSpec {
    int32_t heads, kv_heads; /* of queries; of keys and values */
    Activation activation;   /* of the feed-forward layers */
    NormKind norm;
    bool post_norm;     /* post-LN: y = norm(x + f(x)); else pre-LN: y = x + f(norm(x)) */
    float eps;          /* of the norms */
    float score_scale;  /* factor on q·k */
    bool distance_keys; /* AttnDistance.keys: embeddings of distances are multiplied with keys as well as queries */
    float embed_scale;  /* factor on the token embedding */
    float dropout;      /* rate of the embedding and of the outputs of sublayers */
    float attention_dropout, activation_dropout,
        final_dropout;              /* rates of *_PROBS, of SITE_MLP_HIDDEN, of SITE_FINAL */
    float lora_scale, lora_dropout; /* of adapters: see lora_fwd */
} ModelSpec;

/* Fixed for a layer. */
typedef struct LayerSpec {
    int index;                 /* number of the block in its stack; 0 for the embedding and the final norm */
    int block;                 /* number of the block in the model: decoder blocks follow the encoder's */
    bool decoder;              /* of the decoder: self-attention is causal */
    int32_t window;            /* of self-attention, as AttnSpec.window; 0 means none */
    const BlockLayout *layout; /* of self-attention; NULL means dense */
    float score_rescale;       /* AttnSpec.rescale: index + 1 with model.qk_layer_scaling; 0 means none */
    bool local_rotary;         /* a block with a window: its rotary angles are Ctx.rotary[1] */
    RelposSpec relpos;         /* relative-position buckets of its stack; RelposSpec.first is set at each use */
} LayerSpec;

/* Context of one layer in a pass over one stream. The caller of a layer sets `layer`; layers change nothing here. */
typedef struct Ctx {
    Device *dev;
    Precision
        precision; /* of the model; activations have precision.compute, x and dx of sublayers precision.residual */
    const ModelSpec *model;
    const LayerSpec *layer;
    Arena *save;                  /* activations kept for backward */
    Arena *scratch;               /* marked and reset within a layer */
    const Tokens *tokens;         /* the stream of the activations x (N,C) */
    const Tokens *encoder_tokens; /* the stream of the encoder output; NULL where there is no cross-attention */
    Tensor rotary[2];             /* (P, rotated channels of a head) angles of global and of local layers, or absent */
    uint64_t seed;                /* of the dropout masks of this update */
    bool train;                   /* dropout is applied */
    const Fp8Scales *fp8;         /* the linear layers of blocks are in FP8 by these scales; NULL means they are not */
} Ctx;

/* Dropout of a site at the layer and stream of the context; rate 0 where the pass does not train. */
Dropout ctx_dropout(const Ctx *cx, DropoutSite site);
/* Where the gradient of w goes: g; for a frozen w, whose g is absent, scratch of w's shape that nobody reads. */
Tensor ctx_gradient(const Ctx *cx, Tensor g, Tensor w);
/* t (residual stream) as an activation: t itself, or a copy in `save` where precision.residual is not
 * precision.compute. */
Tensor ctx_activation(const Ctx *cx, Tensor t);
/* AttnSpec with the model's heads and scale: query sequence i attends to key sequence i, without mask, window or bias;
 * keys->first, where present, makes the keys those of a key/value cache. */
AttnSpec ctx_attention(const Ctx *cx, const Sequences *queries, const Sequences *keys);
