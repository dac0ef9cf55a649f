/* trainer_state.h: the inside of a training run, for trainer.c (the loop), trainer_step.c (one step) and trainer_open.c
 * (opening, resuming, closing). */
#pragma once

#include "data/prefetch.h"
#include "eval/heldout_sets.h"
#include "train/every.h"
#include "train/memory.h"
#include "train/metrics.h"
#include "train/run.h"

typedef struct Trainer {
    Config config; /* a shallow copy: model.vocab is resolved */
    Tokenizer *tok;
    Device *dev;
    Model *model;
    Optimizer *optimizer;
    Loader *train;
    GPtrArray *valid; /* HeldoutSet *; the first one decides which checkpoint is the best */
    Prefetch *prefetch;
    Batch **batch; /* (accum) the microbatches of a step */
    int64_t accum, micro, samples;
    Schedule schedule;
    int64_t total;       /* steps; -1: the length is a time, or in tokens that are counted */
    double total_tokens; /* 0: the length is no such number */
    Every log_every, eval_every, save_every, save_within;
    TrainState state;
    ModelLoss loss;
    MemoryPlan memory;
    GPtrArray *changes; /* char *: options that differ from those the run had before */
    Metrics *metrics;
    double step_flops, peak_flops;
    gint64 started, window_started;     /* microseconds */
    int64_t window_tokens, window_rows; /* real tokens and rows of capacity since the last log line */
    int64_t window_step;                /* the step that the window begins behind */
    int64_t step_tokens;                /* read by the last step */
    int64_t skipped, first_step, first_tokens;
    int64_t best_data; /* what TrainState's best_data would be of an evaluation now */
    TrainState saved;  /* what the newest sound checkpoint holds; attempts -1: none */
} Trainer;

/* What a step found. */
typedef struct StepStats {
    LossSums sums;
    double lr, norm;
    int64_t tokens; /* read */
    bool updated;
} StepStats;

/* Whether the length is reached; a time is that of this process. */
bool trainer_finished(const Trainer *t);
/* Makes one update, or skips it where no finite gradient was found. A stop may abandon it: LOAM_ERROR_STOPPED, and
 * nothing has changed. */
bool train_step(Trainer *t, StepStats *stats, GError **error);

static inline double seconds_since(gint64 start)
{
    return (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC;
}

/* Opens everything, goes on from the newest sound checkpoint where there is one. On failure what was opened is left for
 * trainer_close. */
bool trainer_open(Trainer *t, GError **error);
void trainer_close(Trainer *t);
