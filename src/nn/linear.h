/* linear.h: y = x wᵀ + b. */
#pragma once

#include "nn/ctx.h"

typedef struct LinearW {
    Tensor w; /* (out,in) */
    Tensor b; /* (out), or absent */
} LinearW;

/* y (N,out) = x (N,in) wᵀ + b. */
void linear_fwd(const Ctx *cx, Tensor y, Tensor x, LinearW w);
/* dx = dy w. Weight gradients: g = beta g + new. */
void linear_bwd(const Ctx *cx, Tensor dx, Tensor dy, Tensor x, LinearW w, LinearW g, float beta);
/* dx = dx_beta dx + dy w: dx_beta is 1 where several layers read the same x. */
void linear_bwd_input(const Ctx *cx, Tensor dx, float dx_beta, Tensor dy, LinearW w);
/* g.w = beta g.w + dyᵀ x; g.b = beta g.b + Σ over rows of dy. */
void linear_bwd_weight(const Ctx *cx, Tensor dy, Tensor x, LinearW g, float beta);
