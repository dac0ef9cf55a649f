/* heads.h: the losses of a model. */
#pragma once

#include "model/transformer.h"

/* Adds the sums of all losses of the batch to model->sums. x (N,C): the output of the last stack; with loss->grad dx
 * (N,C) is their gradient, and those of the heads' parameters are added to. */
void heads_loss(Model *model, const Ctx *cx, Tensor dx, Tensor x, const Batch *batch, const ModelLoss *loss);

/* The buckets of the embedding and of the projection to the vocabulary in one ModelW. */
void heads_acquire(Model *model, ModelW *w);
void heads_release(Model *model);
/* The projection to the vocabulary, with its gradients where g has them, which take beta. */
HeadW heads_weights(const Model *model, const ModelW *w, const ModelW *g, float beta);
