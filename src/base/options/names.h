/* options/names.h: what to tell about an option name that does not exist. */
#pragma once

#include "base/options/options.h"

/* A user's error that names the nearest option, or else the options or groups that there are; returns false. */
bool option_fail_unknown(const OptionTable *table, const char *name, GError **error);
