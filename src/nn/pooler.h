/* pooler.h: BERT's pooler over the first token of each sequence, and the loss of the classifier on it. */
#pragma once

#include "nn/linear.h"

typedef struct PoolerW {
    LinearW dense;   /* (C,C) */
    LinearW classes; /* (classes, C) */
} PoolerW;

/* pooled (S,C) = tanh(x₀ denseᵀ), x₀ the first token of each sequence of x (N,C). */
void pooler_fwd(const Ctx *cx, Tensor pooled, Tensor x, const PoolerW *w);
/* Cross-entropy of pooled · classesᵀ. sums (XENT_STATS) f64: sums over the sequences of the statistics of op_xent.
 * labels (S) i32; weights (S), 0 where a sequence has no label. With xent->grad the gradient is added to dx (N,C) and
 * the gradients g take beta. */
void pooler_loss(const Ctx *cx, Tensor sums, Tensor dx, Tensor x, const PoolerW *w, const PoolerW *g, float beta,
                 Tensor labels, Tensor weights, const XentSpec *xent);
