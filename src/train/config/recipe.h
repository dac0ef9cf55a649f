/* recipe.h: defaults that depend on the model, two tables: what its family and size decide (objective, lengths, batch,
 * optimizer), and what that optimizer needs in this family at this size (rate, warm-up, decay). docs/defaults.md says
 * where each number comes from. */
#pragma once

#include "train/config/config.h"

/* Append settings ("data.objective" …). */
void recipe_add_model(const ModelConfig *model, GPtrArray *settings);
/* optimizer: OptimKind. timed: the run's length is a time, so that its last step and shares of it are not known. */
void recipe_add_optimizer(const ModelConfig *model, int optimizer, bool timed, GPtrArray *settings);
