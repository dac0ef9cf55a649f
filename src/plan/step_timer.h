/* step_timer.h: measures the time of a training step (forward, backward, update) with random tokens, not a dataset. */
#pragma once

#include "device/gemm_peak.h"
#include "device/profile.h"
#include "run/config/config.h"

#define STEP_USUAL_SHARE 0.7 /* usual speed of a training step, as a share of the peak of matrix products */

typedef struct StepTimer {
    const Config *config; /* with model.vocab and train.precision resolved */
    const Objective *objective;
    ObjectiveConfig planned; /* the objective's configuration after Objective.plan */
    Mesh mesh;               /* config->parallel.mesh, or that of a single rank */
    Device *dev;
    Model *model;
    Optimizer *optimizer;
    Batch *batch;
    GemmPeak gemm_peak;
    int64_t sent;                  /* bytes that each rank sends in a step; 0 with one rank */
    size_t room, plan;             /* bytes of GPU memory: free before the run; planned for the run */
    int64_t micro, accum, updates; /* samples of a microbatch, microbatches of a step, updates made so far */
    int32_t enc, dec; /* tokens per sample in encoder and decoder; 0 means that the model does not have this stack */
} StepTimer;

typedef struct StepTimes {
    double micro_s;  /* seconds of forward and backward of one microbatch; with several ranks, the mean of the
                        microbatches of a step */
    double queued_s; /* time until the host has queued all operations of a microbatch; about micro_s on the CPU, which
                        computes at once */
    double update_s; /* gradient norm and optimizer update */
    double step_s;   /* a whole step: accum microbatches and one update */
    double tokens_per_s, flops_per_s;
    double comm_s, comm_hidden; /* per step: seconds of this rank's collectives (0 with one rank), and the share of them
                                   that overlapped with computation */
    double stage_wait;          /* share of a step in which a rank waited for other stages, mean over all ranks; 0
                                   without a pipeline */
    double *stage_s;       /* (step_timer_stages) seconds per step in which a rank of each stage computes forward and
                              backward passes, mean over its ranks; NULL without a pipeline */
    double profiled_s;     /* wall-clock time that the profile covers */
    PeakRate peak;         /* rate of matrix products, measured between the steps */
    size_t taken, planned; /* bytes of GPU memory: allocated since the start, by this run and by other processes;
                              planned for this run. 0 on the CPU */
} StepTimes;

/* Resolves model.vocab and train.precision and sets the fields config, objective, planned, micro, accum, enc and dec.
 * Opens no device or model. */
bool step_timer_plan(StepTimer *timer, Config *config, GError **error);
/* Calls step_timer_plan, allocates the memory of a run and opens the configured model with random weights. With several
 * ranks (config->parallel.mesh) every rank opens a timer of its own part of a step, and calls the functions below at
 * the same time as the others. Free with step_timer_clear, also after an error. */
bool step_timer_open(StepTimer *timer, Config *config, GError **error);
void step_timer_clear(StepTimer *timer);
/* Repeats a microbatch, an update and a measurement of the peak for about `seconds`, at least once. The results are
 * medians, so that short disturbances by other processes do not count; rates are those of all ranks together. profile
 * may be NULL. times->stage_s: g_free. */
void step_timer_run(StepTimer *timer, double seconds, Profile *profile, StepTimes *times);
/* Stages of the pipeline; 1 means no pipeline. */
int step_timer_stages(const StepTimer *timer);
/* Runs one more step and records every operation and phase of it in profile->events. */
void step_timer_trace(StepTimer *timer, Profile *profile);
/* Input tokens per sample: of the encoder, or of the decoder in a decoder-only model. */
int32_t step_timer_inputs(const StepTimer *timer);
