/* help.h: the help of all verbs as manual pages and as completion scripts for shells. */
#pragma once

#include "base/options/options.h"
#include "cli/cli.h"

/* Writes DIR/loam.1, one page per verb, and loam-config.5. */
bool help_write_man(const char *dir, const OptionTable *options, GError **error);
/* A script for a shell: "bash", "zsh" or "fish". g_free; NULL where there is none for this shell. */
char *help_completion(const char *shell, const OptionTable *options);
