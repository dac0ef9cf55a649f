/* nn.h: layers, forward and backward, over rows of tokens.
 *
 * Legend: N tokens (rows), C width, A attention width H·D, F ffn width, H heads, D head size, V vocabulary, Tq / Tk
 * lengths. dx is the gradient of x. Backward takes dx, dy, then what forward took. Weights are (out, in), as Hugging
 * Face stores them. Activation gradients are written; parameter gradients take g_beta of the context (0 at the first
 * touch of a step, then 1). */
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
    SITE_FINAL
} DropoutSite;

typedef struct Ctx {
    Device *dev;
    Arena *save;             /* activations kept for backward */
    Arena *scratch;          /* marked and reset within a layer */
    DType dtype;             /* of activations */
    const TokenStream *rows; /* the stream whose rows the activations are */
    bool decoder;
    int layer;     /* block number in its stack */
    float dropout; /* 0 when not training */
    uint64_t seed;
    float eps;    /* of the norms */
    float g_beta; /* of the gradients acquired last */
} Ctx;

/* The Dropout of a site at the context's layer and stream. */
Dropout ctx_dropout(const Ctx *cx, DropoutSite site);
