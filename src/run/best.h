/* best.h: the best checkpoint of a run whose recorded best is missing: pruned before a rollback, or deleted by hand. */
#pragma once

#include "run/checkpoint/checkpoint.h"

typedef struct RunBest {
    int64_t step;  /* -1 means that no checkpoint has a recorded value */
    double value;  /* of the metric at that step */
    int64_t stale; /* evaluations after it */
} RunBest;

/* The step of the best checkpoint if it is missing: the link "best" names it or, without that link, the newest
 * checkpoint does. -1 means none. */
int64_t run_lost_best(const char *dir);
/* The score that train.best of RUN/config.yaml names; NULL means the held-out loss. g_free. */
char *run_best_metric(const char *dir);
/* The best of the checkpoints up to state->steps that were evaluated on the samples of state->best_data, by the values
 * that they or metrics.jsonl record. metric: as run_best_metric returns it. */
RunBest run_find_best(const char *dir, const TrainState *state, const char *metric);
/* Why another checkpoint than that of step `lost` is the best one now, or none. g_free. */
char *run_describe_best(const RunBest *best, int64_t lost);
/* That no evaluation gave a finite metric (run_best_metric), if the run has no best checkpoint for this reason; NULL
 * otherwise. g_free. */
char *run_describe_undefined(const TrainState *state, const char *metric);
char *run_describe_no_best(const char *dir); /* the same, of the newest checkpoint of a run */
/* Warns, if the path of the run would mean its best checkpoint, that this is missing and the newest one is used. */
void run_warn_of_lost_best(const char *dir);
