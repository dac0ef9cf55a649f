/* history.h: reads the losses of a run from its metrics.jsonl, to compare and plot them. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct HistoryPoint {
    int64_t step;
    double tokens; /* input tokens read up to this step; NAN for a held-out loss in a file that logs no training step */
    double loss;   /* nats per target token; for training, the mean over the steps since the previous record */
} HistoryPoint;

typedef struct History {
    GArray *train;   /* HistoryPoint, in rising order of steps */
    GArray *valid;   /* HistoryPoint, of the run's first held-out set, in rising order of steps */
    int64_t skipped; /* number of lines that are no JSON objects */
} History;

/* Reads DIR/metrics.jsonl; lines that are not valid records are ignored. It is an error if the file cannot be read or
 * contains no loss. history_clear frees the points, also after an error. */
bool history_read(History *history, const char *dir, GError **error);
void history_clear(History *history);
/* The x coordinate of a point: its input tokens, or its step. */
double history_x(const HistoryPoint *point, bool by_tokens);
/* The loss at x tokens or steps, interpolated linearly; NAN before and after all points. */
double history_loss_at(const GArray *points, bool by_tokens, double x);
