/* resolve.h: options that nobody gave, from what the configuration speaks of. Before what was given come the run that
 * lies in run.dir already (the options of recipe.h stay as it has them), or else the model of train.init, and the
 * preset; what none of them says becomes the default of the model's family, size and optimizer (recipe.h). */
#pragma once

#include "train/config/config.h"

/* The settings of the file (path may be NULL) and the overrides, after those that come before them; NULL on error. */
GPtrArray *resolve_layers(const char *path, char **overrides, int n_overrides, GError **error);
/* config holds what the layers say; the options of recipe.h that none of them sets get their defaults. */
bool resolve_recipe(Config *config, const GPtrArray *layers, GError **error);
