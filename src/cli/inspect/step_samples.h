/* step_samples.h: which samples a step of a run has read, or will read. */
#pragma once

#include "run/config/config.h"

/* Samples of a step: [first, first + n). */
typedef struct StepSamples {
    int64_t first, n;
} StepSamples;

/* The samples of step `step`, which counts from 1, by the options of the configuration (train.batch, its schedule and
 * train.skip_samples), from the last step before it on of which metrics.jsonl or a checkpoint of the run `dir` says how
 * many samples were read; dir NULL means from step 0. If the options do not lead to the number that the run recorded
 * next, they were others at that time: then the samples are those of equal steps in between, and a warning says so if
 * that is not certain. */
StepSamples step_samples(const Config *config, const char *dir, int64_t step);
