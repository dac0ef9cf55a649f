/* bootstrap.h: confidence intervals by the percentile bootstrap (Efron 1979): many resamples are drawn, each of n units
 * with replacement from the n units; the interval lies between two percentiles of the scores of the resamples. */
#pragma once

#include "scores/kind.h"

/* Sets `low` and `high` of each of n values. The units of resample r depend only on (options->seed, r). Resamples in
 * which a value is NaN are ignored for this value; percentiles are interpolated linearly, as numpy.percentile does. */
void bootstrap(ScoreValue *values, int n, const ScoreStats *stats);
