/* transform.h: the layer between the last block and a projection: BERT's transform before the vocabulary, and its
 * pooler. */
#pragma once

#include "nn/linear.h"
#include "nn/norm.h"

typedef struct TransformW {
    LinearW dense; /* (C,C) */
    NormW norm;    /* absent in a pooler */
} TransformW;

typedef struct TransformSave {
    Tensor x, h; /* (L,C) the input, and x denseᵀ */
    NormSave norm;
} TransformSave;

/* y (L,C) = norm(activation(x denseᵀ)). */
void transform_fwd(const Ctx *cx, Tensor y, Tensor x, const TransformW *w, Activation activation, TransformSave *save);
/* dx may be dy. Weight gradients: g = beta g + new. */
void transform_bwd(const Ctx *cx, Tensor dx, Tensor dy, const TransformW *w, Activation activation, const TransformW *g,
                   float beta, const TransformSave *save);
