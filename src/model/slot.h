/* slot.h: a step of one stage. A slot keeps one microbatch between its forward and its backward, so that a pipeline has
 * as many microbatches in flight as the model has slots. For each microbatch, on every stage: slot_begin, slot_fwd, and
 * where gradients are wanted slot_bwd. What stages send to each other the caller moves:
 *
 *     forward                                          backward
 *     in = slot_begin(…)   in ← the stage before       d_out = slot_gradient(…)   d_out ← the stage behind
 *     out = slot_fwd(…)    out → the stage behind      d_in = slot_bwd(…)         d_in → the stage before
 *
 * Backward passes in the order of the forward passes add up gradients in the order of a model that is not cut. */
#pragma once

#include "model/model.h"

/* What a stage sends to the next one, or its gradient on the way back. N: tokens of the stream in which the cut is; M:
 * rows of the encoder; C: width. The tensors are the slot's until its next slot_begin. */
typedef struct StageMessage {
    Tensor x; /* (N,C) the residual stream behind the stage's last block; absent between encoder and decoder */
    Tensor encoder_output; /* (M,C) where the decoder is still to come or under way; else absent */
} StageMessage;

/* Starts a microbatch on slot 0, 1, … The batch must stay until the slot's last call. Returns where the message of the
 * stage before is to be written, nothing in the first stage. */
StageMessage slot_begin(Model *model, int slot, const Batch *batch, const ModelLoss *loss);
/* Forward. The stage with the heads adds its losses to the sums that model_take_sums takes, and with loss->grad makes
 * their gradients. Returns the message for the stage behind, nothing in the last one. */
StageMessage slot_fwd(Model *model, int slot);
/* Where the gradient of the message that slot_fwd returned is to be written. */
StageMessage slot_gradient(Model *model, int slot);
/* Backward: adds to the gradients of the parameters, and returns the gradient of the message that slot_begin asked for.
 */
StageMessage slot_bwd(Model *model, int slot);
