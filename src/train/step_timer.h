/* step_timer.h: measures how long a training step takes: forward, backward and update, on random tokens without a
 * dataset. */
#pragma once

#include "device/profile.h"
#include "device/yardstick.h"
#include "model/model.h"
#include "train/config/config.h"

typedef struct StepTimer {
    const Config *config; /* model.vocab is resolved */
    const Objective *objective;
    ObjectiveConfig planned; /* after Objective.plan */
    Device *dev;
    Model *model;
    Optimizer *optimizer;
    Batch *batch;
    Yardstick yardstick;
    size_t room, plan;             /* bytes of a GPU's memory: free before the run, of its plan */
    int64_t micro, accum, updates; /* samples of a microbatch, microbatches of a step, updates made so far */
    int32_t enc, dec; /* tokens of a sample in each stack; 0 means a stack that the objective does not fill */
} StepTimer;

typedef struct StepTimes {
    double micro_s;  /* forward and backward of one microbatch */
    double queued_s; /* time of the host until all of its operations are queued; on the CPU that is micro_s */
    double update_s; /* gradient norm and optimizer update */
    double step_s;   /* a whole step: accum microbatches and an update */
    double tokens_per_s, flops_per_s;
    double profiled_s;     /* wall-clock time that the profile covers */
    PeakRate peak;         /* of matrix products between the steps */
    size_t taken, planned; /* bytes of a GPU's memory that the run and other processes have taken meanwhile, and of its
                              plan; 0 on the CPU */
} StepTimes;

/* Resolves what the configuration leaves open (vocabulary, precision) and sets the sizes of a step: config, objective,
 * planned, micro, accum, enc, dec. Nothing is opened. */
bool step_timer_plan(StepTimer *timer, Config *config, GError **error);
/* step_timer_plan, then takes the memory of a run and opens the configured model, with random weights. step_timer_clear
 * frees it, also after an error. */
bool step_timer_open(StepTimer *timer, Config *config, GError **error);
void step_timer_clear(StepTimer *timer);
/* Repeats a microbatch, an update and a measurement of the peak for about `seconds`, at least once, and takes the
 * medians, so that short disturbances by other processes do not count. profile may be NULL. */
void step_timer_run(StepTimer *timer, double seconds, Profile *profile, StepTimes *times);
/* One more step, of which every operation and phase becomes an event of the profile: profile->events. */
void step_timer_trace(StepTimer *timer, Profile *profile);
/* Input tokens of a sample: the encoder's, or those of a decoder alone. */
int32_t step_timer_inputs(const StepTimer *timer);
