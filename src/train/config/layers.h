/* layers.h: the settings of a configuration in the order in which they override each other, first to last: those saved
 * in run.dir (a run that exists keeps the values of the options in recipe_options), or those of the model that
 * train.init names; the preset; the YAML file; the command line. Options that no layer sets get the defaults of
 * recipe.h. */
#pragma once

#include "train/config/config.h"

/* All layers as one list of OptionSetting *, later ones override earlier ones. path (the YAML file) may be NULL. NULL
 * on error. */
GPtrArray *layers_read(const char *path, char **overrides, int n_overrides, GError **error);
/* Applies the defaults of recipe.h to `config`, which has the layers applied, for options that no layer sets. */
bool layers_apply_recipe(Config *config, const GPtrArray *layers, GError **error);
