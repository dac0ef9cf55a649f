/* history.h: reads the losses of a run back from metrics.jsonl, to compare and plot them. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct HistoryPoint {
    int64_t step;
    double tokens; /* input tokens read up to the step; NAN for a held-out loss where no training step is logged */
    double loss;   /* nats per target token; in training the mean over the steps since the record before */
} HistoryPoint;

typedef struct History {
    GArray *train; /* HistoryPoint, in rising order of steps */
    GArray *valid; /* the same, of the run's first held-out set */
} History;

/* Reads DIR/metrics.jsonl; lines that are not valid records are ignored. An error where the file cannot be read or has
 * no loss. history_clear frees the points, also after an error. */
bool history_read(History *history, const char *dir, GError **error);
void history_clear(History *history);
/* A point's place on an axis of input tokens, or of steps. */
double history_x(const HistoryPoint *point, bool by_tokens);
/* The loss at x tokens or steps, interpolated linearly; NAN before and after all points. */
double history_loss_at(const GArray *points, bool by_tokens, double x);
