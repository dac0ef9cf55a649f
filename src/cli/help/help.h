/* help.h: manual pages, shell completion and a search, by the help of all verbs. */
#pragma once

#include "base/options/options.h"
#include "cli/cli.h"

/* Writes manual pages into DIR: loam.1, one page per verb, and loam-config.5 for the options. */
bool help_write_man(const char *dir, const OptionTable *options, GError **error);
/* The options, presets, verbs and pages of the documentation that mention the word, or words, a line each of at most
 * `width` columns; NULL if none does. g_free. */
char *help_search(const char *word, const OptionTable *options, int width);
/* The completion script for the shell "bash", "zsh" or "fish"; NULL for any other. g_free. */
char *help_completion(const char *shell, const OptionTable *options);
