/* heads.h: the losses of a model. */
#pragma once

#include "model/transformer.h"

/* Adds the sums of all losses of the batch to model->sums. x (N,C): the output of the last stack; with loss->grad dx
 * (N,C) is their gradient, and those of the heads' parameters are added to. */
void heads_loss(Model *model, Ctx *cx, Tensor dx, Tensor x, const Batch *batch, const ModelLoss *loss);
