/* generation_config.h: the settings of generation_config.json (TokenRoles.generation) in messages. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* Whether transformers answers otherwise with this setting than without it, and no other setting tells so. */
bool generation_setting_matters(const char *key, const json_t *value);
/* Appends "KEY VALUE" to a list with commas. */
void generation_setting_append(GString *list, const char *key, const json_t *value);
/* Names the settings that matter, for commands that answer without them; NULL means that there are none. */
void generation_config_tell_unused(const json_t *settings);
