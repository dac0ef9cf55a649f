/* metrics.h: what a run reports: metrics.jsonl, TensorBoard events and the console line, from one record. Natural logs,
 * SI units. */
#pragma once

#include "train/checkpoint/checkpoint.h"

typedef struct Metrics Metrics;

/* Opens DIR/metrics.jsonl and DIR/tb, cut back to `step`: lines and events after it, a torn last line included, are
 * dropped, so that every step is logged once. */
Metrics *metrics_open(const char *dir, int64_t step, GError **error);
void metrics_close(Metrics *metrics);

typedef struct TrainRecord {
    const TrainState *state; /* with the window that ends here */
    double lr, grad_norm;
    double tokens_per_s, step_s, fill;
    double flops_per_s;  /* of the model's matrix products and attention */
    double mfu;          /* flops_per_s as a share of the matrix-product peak measured when the run started */
    double left_s;       /* estimated time to the end; < 0: unknown */
    int64_t total_steps; /* 0: unknown */
} TrainRecord;
void metrics_train(Metrics *metrics, const TrainRecord *record);
/* name of the held-out set; NULL, which is shown as "valid", where it has none. */
void metrics_valid(Metrics *metrics, int64_t step, const char *name, const LossSums *sums, double seconds);
void metrics_save(Metrics *metrics, int64_t step, const char *folder, double seconds);
/* Something that happened: "skipped a step", "resumed" … */
void metrics_event(Metrics *metrics, int64_t step, const char *what);
/* The whole configuration as a text of the TensorBoard series. */
void metrics_options(Metrics *metrics, int64_t step, const char *yaml);
