/* lora_merge.h: a model with low-rank adapters as one without. */
#pragma once

#include "model/model.h"

/* A copy of the model on its device, without adapters: w + alpha/r b a in place of each w that has one. */
Model *lora_merged(Model *model, GError **error);
