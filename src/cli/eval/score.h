/* score.h: `loam eval --score`: the log-probability of given targets, line by line. */
#pragma once

#include "train/model_path.h"

/* path: JSON lines with "input" and "target", each text or an array of ids. Writes one JSON object per line to `out`;
 * NULL means standard output. Lines that `out` already has are not scored again; answers of another model or to other
 * lines in it are an error. */
bool score_file(const LoadedModel *loaded, const char *path, const char *out, GError **error);
