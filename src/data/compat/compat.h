/* compat.h: the way into data/compat: the reference systems whose order of samples data.compat can take. */
#pragma once

#include "data/compat/compat_kind.h"

extern const char *const compat_names[];     /* names of Compat */
extern const char *const break_mode_names[]; /* names of BreakMode */

/* The index of a system for an objective; where there is none, an error that names the objectives it has. */
const CompatKind *compat_find(Compat compat, const char *objective, GError **error);
