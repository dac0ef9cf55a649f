/* rehearsal.h: a run with small sizes, to try a configuration's layout, data, optimizer, saves and hooks. */
#pragma once

#include "run/config/config.h"

/* The overrides that make a rehearsal of the configuration of a file, followed by the n given ones; they do not depend
 * on the layout, so that a rehearsal can go on in another one. A NULL-terminated array; g_strfreev. */
char **rehearsal_overrides(const Config *config, char **given, int n);
