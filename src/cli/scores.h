/* scores.h: prints one score as lines of a table, or as a JSON object. */
#pragma once

#include "scores/scores.h"

/* Prints to standard output; the number of predictions that are invalid for the score goes to standard error. */
bool print_score(const ScoreKind *kind, const ScoreResult *result, bool as_json, GError **error);
