/* memory.h: the sizes of a model's activations, measured by a dry run: the same model on the null device, which
 * computes nothing. Workspace has the arenas; model_reserve (model.h) allocates them. */
#pragma once

#include "model/loss.h"
#include "model/memory/workspace.h"

typedef struct Model Model;

/* Opens a copy of the model, with the same stages, on the null device. Its passes compute nothing: they count FLOPs,
 * and its arenas, which have no memory, record how much the passes would need. */
Model *model_open_dry(const Model *model, bool gradients);
/* model_reserve with such a copy, which may be measured again with other arguments, also for a model of other slots. */
bool model_reserve_by(Model *dry, Model *model, int32_t max_samples, int32_t enc_len, int32_t dec_len,
                      const ModelLoss *loss, size_t *bytes, GError **error);
/* Closes such a copy. If `model` is not NULL, gpu.scratch of its device grows, if it is smaller, to the scratch memory
 * that the operations of the dry run would need. */
void model_close_dry(Model *dry, const Model *model);
