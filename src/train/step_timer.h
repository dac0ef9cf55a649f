/* step_timer.h: how long a training step of a configuration takes, on random tokens: forward, backward, update. No
 * dataset is needed. */
#pragma once

#include "device/profile.h"
#include "model/model.h"
#include "train/config/config.h"

typedef struct StepTimer {
    const Config *config; /* with the vocabulary resolved */
    const Objective *objective;
    ObjectiveConfig planned;
    Device *dev;
    Model *model;
    Optimizer *optimizer;
    Batch *batch;
    int64_t micro, accum, updates; /* samples of a microbatch, microbatches of a step, updates made */
    int32_t enc, dec;              /* tokens of a sample in either stream; 0 means that the objective has none there */
} StepTimer;

typedef struct StepTimes {
    double micro_s, update_s, step_s; /* one microbatch forward and backward; norm and update; a whole step */
    double tokens_per_s, flops_per_s;
    double profiled_s; /* wall time that the profile covers */
} StepTimes;

/* Opens the model of a configuration. To be cleared with step_timer_clear whatever the result. */
bool step_timer_open(StepTimer *timer, Config *config, GError **error);
void step_timer_clear(StepTimer *timer);
/* Runs a microbatch and an update again and again for about `seconds`, once at least, and takes the medians, so that a
 * moment's other work on the machine does not count. profile may be NULL. */
bool step_timer_run(StepTimer *timer, double seconds, Profile *profile, StepTimes *times, GError **error);
/* Tokens that a sample is made of. */
int32_t step_timer_inputs(const StepTimer *timer);
