/* result.h: reads the metrics of an evaluation from the metrics.jsonl of a run. */
#pragma once

#include "eval/task_scores.h"

/* The metrics of one evaluation: "loss" and "perplexity" of the first held-out set, then those of the task's scores,
 * with the name of the held-out set in front if it has one: "rte.accuracy". */
typedef struct RunResult {
    int64_t step;    /* step of the evaluation; -1 means that the file has no such evaluation */
    GArray *metrics; /* Metric */
} RunResult;

/* Reads the evaluation at `step`, or the last one if step is -1. Lines that are not valid records are ignored. Fails if
 * the file cannot be read. run_result_clear frees the metrics, also after an error. */
bool run_result_read(RunResult *result, const char *dir, int64_t step, GError **error);
void run_result_clear(RunResult *result);
/* A description of the main metrics, "f1 94.11, accuracy 98.53, held-out loss 0.2497". first: name of the metric that
 * comes first; NULL means none. g_free. */
char *run_result_describe(const RunResult *result, const char *first);
