/* spike.h: steps whose loss is far above that of the steps before them. Everything here is a function of the losses,
 * which all ranks share, and of counters in TrainState, so a resumed run finds the same spikes. */
#pragma once

#include "run/checkpoint/checkpoint.h"
#include "run/config/config.h"

/* Mean and standard deviation of the losses of the last train.spike_window steps. */
typedef struct SpikeLevel {
    double mean, deviation;
} SpikeLevel;

SpikeLevel spike_level(const TrainState *state);
/* Whether the loss is more than train.spike standard deviations, each counted as at least 0.1 % of the mean, above the
 * mean of the last train.spike_window losses. False while there are fewer. */
bool spike_is(const TrainState *state, const TrainConfig *train, double loss);
/* Adds the loss of a step to the recent ones. The loss of a spike is first reduced to the threshold above which losses
 * are spikes; a loss that is not finite is not added. */
void spike_count(TrainState *state, const TrainConfig *train, double loss);
/* Writes RUN/spikes/step-XXXXXXXX.json: the step, its samples, its loss, and the level of the losses before it. A
 * failure is only logged. */
void spike_report(const char *dir, SpikeLevel before, int64_t step, int64_t first, int64_t samples, double loss);
/* Removes the reports of steps after `last` from DIR/spikes. */
bool spike_cut(const char *dir, int64_t last, GError **error);
