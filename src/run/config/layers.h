/* layers.h: the layers of a configuration are its sources of settings; each layer overrides those before it: 1. the
 * model that train.init names or, if run.dir already holds a run, the values that the run saved for the options in
 * recipe_options (with train.init also for model.* and tokenizer.path); 2. the preset; 3. the YAML file; 4. the command
 * line. Options that no layer sets get the defaults of recipe.h. */
#pragma once

#include "run/config/config.h"

/* All layers as one list of OptionSetting *, in which later settings override earlier ones; NULL on error. path: the
 * YAML file; NULL means none. *names (g_strfreev) becomes the names of the options that the user chose: those in
 * overrides and in `path`, except in a file that sets more than half of all options, such as a run's config.yaml. */
GPtrArray *layers_read(const char *path, char **overrides, int n_overrides, char ***names, GError **error);
/* Applies the defaults of recipe.h to options that no layer sets. config: the layers have been applied to it. */
bool layers_apply_recipe(Config *config, const GPtrArray *layers, GError **error);
