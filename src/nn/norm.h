/* norm.h: RMSNorm and LayerNorm; norm, residual sum and dropout around a sublayer. */
#pragma once

#include "nn/ctx.h"

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
/* dx = residual + the gradient of norm_fwd; residual is dx or NO_TENSOR (means 0); dx may be dy. g = beta g + new. */
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
