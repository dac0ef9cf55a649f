/* slot.h: forward and backward of one stage over one microbatch. A slot keeps the activations that backward needs of
 * one microbatch, so as many microbatches can be in flight as the model has slots. For each microbatch, in every stage,
 * the caller calls slot_begin, slot_fwd, slot_loss and, with ModelLoss.grad, slot_bwd, and copies messages between
 * neighbouring stages:
 *
 *     forward, first stage to last                      backward, last stage to first
 *     in = slot_begin(…)   in ← previous stage's out    d_out = slot_gradient(…)   d_out ← next stage's d_in
 *     out = slot_loss(…, slot_fwd(…))                   d_in = slot_bwd(…)
 *
 * If microbatches run backward in the order in which they ran forward, the gradients equal those of an undivided model
 * bit for bit. If several stages have a tensor, such as a tied embedding, the caller sums its gradients over these
 * stages. */
#pragma once

#include "model/model.h"

/* Starts a microbatch in a slot, whose index is 0 to the number of slots - 1. The batch must stay unchanged until the
 * slot's last call. The caller copies the previous stage's message into the returned tensors (first stage: absent). */
StageMessage slot_begin(Model *model, int slot, const Batch *batch, const ModelLoss *loss);
/* Runs the stage's blocks forward; returns their output (N,C). */
Tensor slot_fwd(Model *model, int slot);
/* In the stage with the heads: adds their losses of y, slot_fwd's result, to the sums of model_take_sums and, with
 * ModelLoss.grad, computes their gradients. Returns the message for the next stage, absent in the last stage. */
StageMessage slot_loss(Model *model, int slot, Tensor y);
/* The caller copies the gradient of slot_loss's message into the returned tensors, absent in the last stage. */
StageMessage slot_gradient(Model *model, int slot);
/* Runs backward and adds to the parameters' gradients. Returns the gradient of the message that slot_begin received. */
StageMessage slot_bwd(Model *model, int slot);
