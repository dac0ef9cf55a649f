/* score.h: `loam eval --score`: the log-probability of given targets, line by line. */
#pragma once

#include "model/model.h"
#include "text/tokenizer.h"

/* path: JSON lines with "input" and "target", each text or an array of ids. Writes one JSON object per line to `out`;
 * NULL means standard output. Lines that `out` already has are not scored again. */
bool score_file(Model *model, const char *model_path, const Tokenizer *tok, const char *path, const char *out,
                GError **error);
