/* help.h: manual pages and shell completion, generated from the help of all verbs. */
#pragma once

#include "base/options/options.h"
#include "cli/cli.h"

/* Writes manual pages into DIR: loam.1, one page per verb, and loam-config.5 for the options. */
bool help_write_man(const char *dir, const OptionTable *options, GError **error);
/* The completion script for the shell "bash", "zsh" or "fish"; NULL for any other. g_free. */
char *help_completion(const char *shell, const OptionTable *options);
