/* slot.h: forward and backward of one stage over one microbatch. A slot keeps what backward needs of a microbatch's
 * forward pass, so as many microbatches can be in flight as the model has slots. For each microbatch, in every stage:
 * slot_begin, slot_fwd, and with ModelLoss.grad slot_bwd. The caller copies messages from stage to stage:
 *
 *     forward, first stage to last                      backward, last stage to first
 *     in = slot_begin(…)   in ← previous stage's out    d_out = slot_gradient(…)   d_out ← next stage's d_in
 *     out = slot_fwd(…)                                 d_in = slot_bwd(…)
 *
 * Where backward passes come in the order of the forward passes, gradients are those of a model that is not cut, bit
 * for bit, except of tensors that several stages have: their gradients are to be summed over the stages. */
#pragma once

#include "model/model.h"

/* What a stage sends to the next one, or its gradient on the way back. N: tokens of the encoder or decoder, whichever
 * is cut; E: tokens of the encoder; C: width. The tensors belong to the slot and last until its next slot_begin. */
typedef struct StageMessage {
    Tensor x; /* (N,C) residual stream after the stage's last block; absent at a cut between encoder and decoder */
    Tensor encoder_output; /* (E,C); absent at a cut within the encoder, and without an encoder */
} StageMessage;

/* Starts a microbatch on a slot, 0 to the number of slots - 1. The batch must not change before the slot's last call.
 * Returns the tensors into which the previous stage's message is to be copied; absent in the first stage. */
StageMessage slot_begin(Model *model, int slot, const Batch *batch, const ModelLoss *loss);
/* Forward. In the stage with the heads it adds to the sums of model_take_sums, and with ModelLoss.grad makes the
 * gradients of the heads. Returns the message for the next stage; absent in the last one. */
StageMessage slot_fwd(Model *model, int slot);
/* Returns the tensors into which the gradient of slot_fwd's message is to be copied; absent in the last stage. */
StageMessage slot_gradient(Model *model, int slot);
/* Backward: adds to the gradients of the parameters. Returns the gradient of the message that slot_begin took. */
StageMessage slot_bwd(Model *model, int slot);
