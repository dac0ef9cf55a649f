/* compat.h: the way into data/compat: the reference systems whose order of samples data.compat can take. */
#pragma once

#include "data/compat/compat_kind.h"

extern const char *const compat_names[];
extern const char *const break_mode_names[];
extern const CompatKind compat_kinds[]; /* ends with objective NULL */

const CompatKind *compat_find(Compat compat, const char *objective, GError **error);
