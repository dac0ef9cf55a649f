/* history.h: the losses that a run has logged in metrics.jsonl, read back to be compared and drawn. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* A logged loss. Training: the mean since the record before; held-out: of the run's first held-out set. */
typedef struct HistoryPoint {
    int64_t step;
    double tokens; /* input tokens trained on so far; held-out: NAN where no training step is logged */
    double loss;   /* nats per target token */
} HistoryPoint;

typedef struct History {
    GArray *train, *valid; /* HistoryPoint, steps rising */
} History;

/* Reads DIR/metrics.jsonl. Lines that cannot be read are passed over, as a torn last one is. An error where the file
 * cannot be read or holds no loss. To be cleared with history_clear whatever the result. */
bool history_read(History *history, const char *dir, GError **error);
void history_clear(History *history);
/* The loss at a step, or after a number of tokens: between two points on the line through them; NAN before the first
 * and behind the last. */
double history_at_step(const GArray *points, double step);
double history_at_tokens(const GArray *points, double tokens);
