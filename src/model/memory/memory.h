/* memory.h: the sizes of a model's activations, measured by a dry run: the same model on the null device, which
 * computes nothing. Workspace has the arenas; model_reserve (model.h) allocates them. */
#pragma once

#include "model/memory/workspace.h"

typedef struct Model Model;

/* Opens the same stages of the same model on the null device, where it computes nothing but counts memory, in measuring
 * arenas, and FLOPs. */
Model *model_open_dry(const Model *model, bool gradients);
/* Closes it. `model`, if not NULL: its device's gpu.scratch becomes what the operations of the dry run would need, if
 * that is more. */
void model_close_dry(Model *dry, const Model *model);
