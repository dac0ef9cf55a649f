/* model_config.h: the configuration that belongs to a trained model named by a path. */
#pragma once

#include "train/config/config.h"

/* The configuration that a run directory saved (RUN@best and RUN@1000 too); for another kind of model the defaults of
 * its family, as with train.init=MODEL. Overrides ("group.key=value") come last; those of model.* are errors. config is
 * zeroed memory; config_clear frees it, also after an error. */
bool cli_model_config(Config *config, const char *path, char **overrides, int n_overrides, GError **error);
