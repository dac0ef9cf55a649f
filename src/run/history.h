/* history.h: reads from a run's metrics.jsonl losses, to compare and plot, and the metrics of one evaluation. */
#pragma once

#include "eval/task_scores.h"

typedef struct HistoryPoint {
    int64_t step;
    double tokens; /* input tokens read up to this step; NAN for a held-out loss in a file that logs no training step */
    double loss;   /* nats per target token; for training, the mean over the steps since the previous record */
} HistoryPoint;

typedef struct History {
    GArray *train;    /* HistoryPoint, in rising order of steps */
    GArray *valid;    /* HistoryPoint, of the first set of the run's data.valid, in rising order of steps */
    int64_t skipped;  /* number of lines that are no JSON objects */
    char *held_out;   /* hash of the samples of that set; NULL means unknown */
    int64_t replaced; /* the last step whose held-out loss is of other data under that set's name, and is left out; -1
                         means none */
} History;

/* Reads DIR/metrics.jsonl; lines that are not valid records are ignored. It is an error if the file cannot be read or
 * contains no loss. history_clear frees the points, also after an error. */
bool history_read(History *history, const char *dir, GError **error);
void history_clear(History *history);
/* Warns that the first held-out set of a run has other data than up to this step, if it is not -1. */
void history_tell_replaced(const char *run, int64_t step);
/* The x coordinate of a point: its input tokens, or its step. */
double history_x(const HistoryPoint *point, bool by_tokens);
/* The loss at x tokens or steps, interpolated linearly; NAN before and after all points. */
double history_loss_at(const GArray *points, bool by_tokens, double x);

/* ---- one evaluation ---- */

/* The metrics of one evaluation: "loss" and "perplexity" of the first set of the run's data.valid, then those of the
 * task's scores, with the name of the held-out set in front if it has one: "rte.accuracy". */
typedef struct RunResult {
    int64_t step;    /* step of the evaluation; -1 means that the file has no such evaluation */
    GArray *metrics; /* Metric */
    char *set;       /* name of the first set of data.valid; NULL means that nothing was evaluated */
    char *led_set;   /* of the set that was the first one at that evaluation (the last one if step is -1), as it was
                        called then, its loss and the step; NULL, NAN and -1 mean no held-out loss at that step */
    double led_loss;
    int64_t led_step;
    char *held_out;   /* as in History */
    int64_t replaced; /* as in History */
} RunResult;

/* Reads the evaluation at `step`, or the last one if step is -1. Lines that are not valid records are ignored. Fails if
 * the file cannot be read. run_result_clear frees the metrics, also after an error. */
bool run_result_read(RunResult *result, const char *dir, int64_t step, GError **error);
void run_result_clear(RunResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RunResult, run_result_clear)
/* How the set differs that was the first one at an evaluation that has no loss of the first set of data.valid: "another
 * held-out set than now, own". NULL means that the loss is there, or that there is none at all. g_free. */
char *run_result_other_set(const RunResult *result);
/* A description of the main metrics, "f1 94.11, accuracy 98.53, held-out loss 0.2497". first: name of the metric that
 * comes first; NULL means none. g_free. */
char *run_result_describe(const RunResult *result, const char *first);
