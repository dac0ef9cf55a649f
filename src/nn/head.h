/* head.h: a head: selected rows of the last block's output, projected to classes, and their cross-entropy. head_loss
 * computes logits a chunk of rows at a time, never all (L,V) at once. L: rows with a loss; V: classes. */
#pragma once

#include "nn/transform.h"

/* logits = scale t(x) wᵀ + b; t is a transform, or the identity. */
typedef struct HeadW {
    Tensor w, dw;                             /* (V,C); dw is absent where no gradient is wanted */
    Tensor b, db;                             /* (V), or absent */
    const TransformW *transform, *dtransform; /* NULL: the identity */
    Activation activation;                    /* of the transform */
    float scale;
    float beta; /* gradients: g = beta g + new */
} HeadW;

/* Rows of the last block's output that have a loss, and their targets. */
typedef struct HeadRows {
    Tensor rows;    /* (L) i32 distinct row indices into x (N,C); L > 0 */
    Tensor targets; /* (L) i32 classes */
    Tensor weights; /* (L) 1, or 0 where the row counts for nothing */
} HeadRows;

/* Cross-entropy over the classes of each row. sums (XENT_STATS) f64: sums over L of the statistics of op_xent. With
 * xent->grad the gradient is added to dx (N,C), and the gradients of the head are written. */
void head_loss(const Ctx *cx, Tensor sums, Tensor dx, Tensor x, const HeadW *head, const HeadRows *rows,
               const XentSpec *xent);
/* logits (N,V) f32 of x (N,C), in host memory; waits for the device. */
void head_logits(const Ctx *cx, float *logits, Tensor x, const HeadW *head);
