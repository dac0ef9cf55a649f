/* model_config.h: finds the configuration for a trained model that a path names. */
#pragma once

#include "run/config/config.h"

/* For a run directory (also RUN@best, RUN@1000): the configuration that the run saved. For any other model: the
 * defaults of its family, as with train.init=MODEL. Overrides ("group.key=value") are applied last; an override of
 * model.* (except model.labels) or of lora.* is an error. The caller passes a zeroed Config and frees it with
 * config_clear, also after an error. */
bool cli_model_config(Config *config, const char *path, char **overrides, int n_overrides, GError **error);
/* How the length of answers is set if `name` is what other programs call it: data.target_length=20 for max-new-tokens
 * and 20. g_free; NULL means another name. */
char *cli_answer_length(const char *name, const char *value);
