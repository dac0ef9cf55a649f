/* result.h: what a run has achieved, read from the metrics.jsonl of its directory. */
#pragma once

#include "eval/task_scores.h"

/* The metrics of one evaluation: "loss" and "perplexity" of the first held-out set, then those of the task's scores;
 * "rte.accuracy" where the task has a held-out set with a name. */
typedef struct RunResult {
    int64_t step;    /* -1 means that the file has no such evaluation */
    GArray *metrics; /* Metric */
} RunResult;

/* Reads the evaluation at `step`, or the last one where step is -1. Lines that are no valid records are ignored; an
 * error where the file cannot be read. run_result_clear frees the metrics, also after an error. */
bool run_result_read(RunResult *result, const char *dir, int64_t step, GError **error);
void run_result_clear(RunResult *result);
/* "f1 94.11, accuracy 98.53, held-out loss 0.2497": the main metrics, that of the name `first` (NULL means none) before
 * the others. g_free. */
char *run_result_describe(const RunResult *result, const char *first);
