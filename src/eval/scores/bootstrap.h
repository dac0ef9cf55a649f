/* bootstrap.h: confidence intervals by the percentile bootstrap (Efron 1979): many resamples are drawn with
 * replacement, each of as many units as there are; the interval lies between two percentiles of the scores of the
 * resamples. */
#pragma once

#include "eval/scores/kind.h"

/* Sets low and high of each of n values. The units of resample r are a function of (options->seed, r) alone. Resamples
 * in which a value is NaN are left out for this value; percentiles are interpolated linearly, as numpy.percentile does.
 */
void bootstrap(ScoreValue *values, int n, const ScoreStats *stats);
