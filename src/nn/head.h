/* head.h: the language-modelling head: projection to the vocabulary and its cross-entropy. Logits are made a chunk of
 * rows at a time: (N,V) is never whole in memory. */
#pragma once

#include "nn/transform.h"

/* logits = scale t(x) wᵀ + b; t is BERT's transform, or the identity. */
typedef struct HeadW {
    Tensor w, dw;                             /* (V,C); dw is absent where no gradient is wanted */
    Tensor b, db;                             /* (V), or absent */
    const TransformW *transform, *dtransform; /* NULL: the identity */
    float scale;
    float beta; /* of dw, db and dtransform */
} HeadW;

/* Cross-entropy of the tokens x[rows], rows (L) i32 without repetition, L > 0. targets (L) i32, weights (L). sums
 * (XENT_STATS) f64: sums over L of the statistics of op_xent. With xent->grad: dx (N,C), 0 in all other rows, and the
 * gradients of the head. */
void head_loss(const Ctx *cx, Tensor sums, Tensor dx, Tensor x, const HeadW *head, Tensor rows, Tensor targets,
               Tensor weights, const XentSpec *xent);
/* logits (N,V) f32 of x (N,C), in memory of the host; waits for them. */
void head_logits(const Ctx *cx, float *logits, Tensor x, const HeadW *head);
