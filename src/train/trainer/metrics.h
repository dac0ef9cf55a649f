/* metrics.h: writes each measurement of a run to metrics.jsonl, to TensorBoard events and to the log. Losses are in
 * nats (natural logarithm), rates in SI units. */
#pragma once

#include "device/gemm_peak.h"
#include "eval/task_scores.h"
#include "train/checkpoint/checkpoint.h"

/* The functions below write nothing if metrics is NULL, as on ranks other than 0. */
typedef struct Metrics Metrics;

/* Opens DIR/metrics.jsonl and DIR/tb for a run that continues after `step`. Removes lines and events of later steps and
 * an incomplete last line, so that every step is logged once. */
Metrics *metrics_open(const char *dir, int64_t step, GError **error);
void metrics_close(Metrics *metrics);

typedef struct TrainRecord {
    const TrainState *state; /* state->window holds the sums since the last record */
    double lr, grad_norm;
    double loss_scale; /* loss scale of fp16; 0 means none */
    double tokens_per_s, step_s;
    double data_wait;    /* share of the time that steps spent waiting for batches */
    double comm_wait;    /* share of the time that steps spent waiting for other ranks */
    double sent_bytes;   /* bytes sent to other ranks per step; 0 with one rank */
    double fill;         /* packing efficiency: tokens without padding / capacity of the batches in tokens */
    double flops_per_s;  /* FLOPs of matrix products and attention per second */
    PeakRate peak;       /* rate of matrix products, measured between the steps: mfu is flops_per_s / peak.median */
    double left_s;       /* estimated time to the end; < 0 means unknown */
    int64_t total_steps; /* 0 means unknown */
} TrainRecord;
void metrics_train(Metrics *metrics, const TrainRecord *record);
/* Writes the losses of one held-out set. name: as in data.valid; NULL means that it has no name and is called "valid".
 * */
void metrics_valid(Metrics *metrics, int64_t step, const char *name, const LossSums *sums, double seconds);
/* Writes the metrics (Metric) of a task's scores over n examples. name: of the task's held-out set; NULL means none. */
void metrics_scores(Metrics *metrics, int64_t step, const char *name, const GArray *scores, int64_t n, double seconds);
/* Records a saved checkpoint. seconds: time that writing took; stall: time that training waited for it. */
void metrics_save(Metrics *metrics, int64_t step, const char *folder, double seconds, double stall);
/* Writes a record of kind "event" with a text: "skipped: …", "train.length changed from …". */
void metrics_event(Metrics *metrics, int64_t step, const char *what);
/* Writes the whole configuration to TensorBoard as text. */
void metrics_options(Metrics *metrics, int64_t step, const char *yaml);
