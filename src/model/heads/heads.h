/* heads.h: what a model computes above its last block: losses, logits, BERT's pooler. The heads themselves are the rows
 * of a table in heads.c; loss.h has their names. C: width, V: size of the vocabulary. */
#pragma once

#include "model/model.h"
#include "nn/ctx.h"

/* Adds the sums of the losses of all heads to the sums of model_take_sums. x (N,C): the output of the last stack, whose
 * context is cx. With loss->grad dx (N,C) is their gradient, and the gradients of the heads' parameters are added to.
 */
void heads_loss(Model *model, const Ctx *cx, Tensor dx, Tensor x, const Batch *batch, const ModelLoss *loss);
/* logits (N,V) f32 of HEAD_TOKENS, in host memory; waits for the device. */
void heads_logits(Model *model, const Ctx *cx, float *logits, Tensor x);
/* The classifier's logits on the host, as model_classify returns them. */
void heads_classify(Model *model, const Ctx *cx, float *logits, Tensor x, const Batch *batch);
/* The most likely tokens of each row of x (N,C) by HEAD_TOKENS: see op_top. */
void heads_top(Model *model, const Ctx *cx, Tensor values, Tensor ids, Tensor log_sum, Tensor x);
/* pooled (S,C) = tanh(first wᵀ + b), BERT's pooler. first (S,C): x at the first token of each of S sequences. */
void heads_pool(Model *model, const Ctx *cx, Tensor pooled, Tensor x);
