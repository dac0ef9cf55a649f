/* score.h: `loam eval --score`: the log-probability of given targets, line by line. */
#pragma once

#include "run/model_path.h"

/* path: JSON lines with "input" and "target", each a text or an array of ids. Writes one JSON object per line to the
 * file `out`; NULL means standard output. Results that `out` already holds are kept; it is an error if they belong to
 * another model or to other lines. skips: lines that cannot be read are left out, not errors. */
bool score_file(const LoadedModel *loaded, const char *path, const char *out, bool skips, GError **error);
