/* spike.h: steps whose loss is far above that of the steps before them. Everything here is a function of the losses,
 * which all ranks share, and of counters in TrainState, so a resumed run finds the same spikes. */
#pragma once

#include "train/checkpoint/checkpoint.h"
#include "train/config/config.h"

/* Whether the loss is more than train.spike standard deviations, each counted as at least 0.1 % of the mean, above the
 * mean of recent losses. False while there are fewer than train.spike_window losses. */
bool spike_is(const TrainState *state, const TrainConfig *train, double loss);
/* Adds the loss of a step to the mean and the variance. The loss of a spike is first reduced to the threshold above
 * which losses are spikes. */
void spike_count(TrainState *state, const TrainConfig *train, double loss);
/* Writes RUN/spikes/step-XXXXXXXX.json: the step, its samples and its loss. A failure is only logged. */
void spike_report(const char *dir, const TrainState *state, int64_t step, int64_t first, int64_t samples, double loss);
/* Removes the reports of steps after `last` from DIR/spikes. */
bool spike_cut(const char *dir, int64_t last, GError **error);
