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
/* The loss at a step, or after so many tokens, interpolated linearly between two points; NAN outside the points. */
double history_at_step(const GArray *points, double step);
double history_at_tokens(const GArray *points, double tokens);
