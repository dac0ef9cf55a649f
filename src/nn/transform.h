/* transform.h: BERT's layer between the encoder and the projection to the vocabulary. */
#pragma once

#include "nn/linear.h"
#include "nn/norm.h"

typedef struct TransformW {
    LinearW dense; /* (C,C) */
    NormW norm;
} TransformW;

typedef struct TransformSave {
    Tensor x, h; /* (L,C) the input, and x denseᵀ */
    NormSave norm;
} TransformSave;

/* y (L,C) = norm(head_activation(x denseᵀ)). */
void transform_fwd(const Ctx *cx, Tensor y, Tensor x, const TransformW *w, TransformSave *save);
/* dx may be dy. The gradients g take beta. */
void transform_bwd(const Ctx *cx, Tensor dx, Tensor dy, const TransformW *w, const TransformW *g, float beta,
                   const TransformSave *save);
