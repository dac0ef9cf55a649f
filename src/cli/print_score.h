/* print_score.h: one score as lines of a table, or as a JSON object. */
#pragma once

#include "eval/scores/scores.h"

/* Prints to standard output, and on standard error how many predictions the score does not know. */
bool print_score(const ScoreKind *kind, const ScoreResult *result, bool as_json, GError **error);
