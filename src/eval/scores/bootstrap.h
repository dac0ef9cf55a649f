/* bootstrap.h: confidence intervals by resampling (Efron 1979): the score of many samples of as many units, drawn with
 * replacement; an interval lies between two percentiles of these scores. */
#pragma once

#include "eval/scores/kind.h"

/* Sets low and high of n values. Draw r is a function of (options->seed, r) alone. Resamples in which a value is
 * undefined do not count for it; percentiles are read off the line between neighbours, as numpy.percentile does. */
void bootstrap(ScoreValue *values, int n, const ScoreStats *stats);
