/* memory.h: the memory that a model computes in. The arenas of a Workspace hold activations; a dry run of the same
 * model on the null device tells how large they must be. model_reserve and its like (model.h) are in reserve.c. */
#pragma once

#include "model/memory/workspace.h"

typedef struct Model Model;

/* The same stage of the same model on the null device, with measuring arenas: it computes nothing, but counts
 * memory and FLOPs. */
Model *model_open_dry(const Model *model, bool gradients);
void model_close_dry(Model *model);
