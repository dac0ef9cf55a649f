/* trainer_state.h: the inside of a training run, for trainer.c (the loop) and trainer_open.c (opening, resuming,
 * closing). */
#pragma once

#include "eval/heldout_sets.h"
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
    int64_t total, log_every, eval_every, save_every; /* steps; total -1: a time */
    TrainState state;
    ModelLoss loss;
    MemoryPlan memory;
    GPtrArray *changes; /* char *: options that differ from those the run had before */
    Metrics *metrics;
    double step_flops, peak_flops;
    gint64 started, window_started;     /* microseconds */
    int64_t window_tokens, window_rows; /* real tokens and rows of capacity since the last log line */
    int64_t skipped, first_step;
    TrainState saved; /* what the newest sound checkpoint holds; attempts -1: none */
} Trainer;

/* Opens everything, goes on from the newest sound checkpoint where there is one. On failure what was opened is left for
 * trainer_close. */
bool trainer_open(Trainer *t, GError **error);
void trainer_close(Trainer *t);
