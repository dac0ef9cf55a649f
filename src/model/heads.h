/* heads.h: the heads of a model above its last block: their losses, and the logits of tokens. */
#pragma once

#include "model/transformer.h"

/* Adds the sums of the losses of all heads to model->sums. x (N,C): the output of the last stack, whose context is cx.
 * With loss->grad dx (N,C) is their gradient, and the gradients of the heads' parameters are added to. */
void heads_loss(Model *model, const Ctx *cx, Tensor dx, Tensor x, const Batch *batch, const ModelLoss *loss);
/* logits (N,V) f32 of HEAD_TOKENS, in host memory; waits for the device. */
void heads_logits(Model *model, const Ctx *cx, float *logits, Tensor x);
/* pooled (S,C) = tanh(x₀ denseᵀ), BERT's pooler of the first token of each sequence. */
void heads_pool(Model *model, const Ctx *cx, Tensor pooled, Tensor x);
