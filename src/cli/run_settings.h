/* run_settings.h: the options of runs, as `loam compare` and `loam collect` compare them. */
#pragma once

#include "base/error.h"

#include <glib.h>

/* For run_settings_read: the hash of each tokenizer read so far, and the tokenizer.path of its first run. */
GHashTable *run_settings_tokenizers(void);

/* Adds the options in DIR/config.yaml to `settings`. A run that was continued by its folder names its own copy of the
 * tokenizer; so that runs of one tokenizer have one tokenizer.path, that of the first of them replaces those of the
 * others. A run without a checkpoint, which has no hash, keeps its path. */
bool run_settings_read(GPtrArray *settings, GHashTable *tokenizers, const char *dir, GError **error);
