/* mlp.h: the feed-forward sublayer. */
#pragma once

#include "nn/linear.h"
#include "nn/norm.h"

/* Gated: wi (2F,C) is wi_0 (F,C) above wi_1 (F,C), both views into it. Not gated: wi (F,C) alone. */
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

/* A sublayer (see norm.h) of f(n) = a woᵀ, a = dropout(act(n wi_0ᵀ) · (n wi_1ᵀ)), the second factor if gated. */
void mlp_fwd(const Ctx *cx, Tensor y, Tensor x, const MlpW *w, MlpSave *save);
/* dx (N,C) holds dy on entry and the gradient of x on return. Weight gradients: g = beta g + new. */
void mlp_bwd(const Ctx *cx, Tensor dx, const MlpW *w, const MlpW *g, float beta, const MlpSave *save);
