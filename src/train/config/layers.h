/* layers.h: the layers (sources of settings) of a configuration, of which each overrides those before it: 1. the model
 * that train.init names, or, if run.dir holds a run already, what that run saved for the options in recipe_options
 * (with train.init also for model.* and tokenizer.path); 2. the preset; 3. the YAML file; 4. the command line. Options
 * that no layer sets get the defaults of recipe.h. */
#pragma once

#include "train/config/config.h"

/* All layers as one list of OptionSetting *, later ones override earlier ones. path (the YAML file) may be NULL. names:
 * names of the options of path, unless it is a run's config.yaml, which sets every option, and of the overrides
 * (g_strfreev). NULL on error. */
GPtrArray *layers_read(const char *path, char **overrides, int n_overrides, char ***names, GError **error);
/* Applies the defaults of recipe.h to `config`, which has the layers applied, for options that no layer sets. */
bool layers_apply_recipe(Config *config, const GPtrArray *layers, GError **error);
