/* heads.h: computations from the output x (N,C) of the last block: losses, logits, BERT's pooler. cx is the context of
 * that output. heads.c has the table of heads, loss.h their names. N: tokens, C: width, V: vocabulary, S: sequences. */
#pragma once

#include "model/model.h"
#include "nn/ctx.h"

/* Computes the losses of all heads and adds their sums to those of model_take_sums. With loss->grad, dx (N,C) becomes
 * the gradient of x, and the gradients of the heads' parameters are added to. */
void heads_loss(Model *model, const Ctx *cx, Tensor dx, Tensor x, const Batch *batch, const ModelLoss *loss);
/* Computes the logits (N,V) f32 of HEAD_TOKENS into host memory; waits for the device. */
void heads_logits(Model *model, const Ctx *cx, float *logits, Tensor x);
/* Computes the classifier's logits f32 into host memory, in the shape that model_classify describes. */
void heads_classify(Model *model, const Ctx *cx, float *logits, Tensor x, const Batch *batch);
/* The most likely tokens of each row of x by HEAD_TOKENS; the shapes are those of op_top. */
void heads_top(Model *model, const Ctx *cx, Tensor values, Tensor ids, Tensor log_sum, Tensor x);
/* pooled (S,C) = tanh(first wᵀ + b), BERT's pooler. first (S,C): rows of x (N,C) of first tokens of sequences. */
void heads_pool(Model *model, const Ctx *cx, Tensor pooled, Tensor x);
