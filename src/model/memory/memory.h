/* memory.h: the sizes of a model's activations, measured by a dry run: the same model on the null device, which
 * computes nothing. Workspace has the arenas; model_reserve (model.h) allocates them. */
#pragma once

#include "model/memory/workspace.h"

typedef struct Model Model;

/* Opens the same stages of the same model on the null device, where it computes nothing but counts memory, in measuring
 * arenas, and FLOPs. */
Model *model_open_dry(const Model *model, bool gradients);
void model_close_dry(Model *model);
