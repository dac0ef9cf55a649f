/* metrics.h: the logs of a run. Each measurement is a record, which the files of this room write in their own form:
 * metrics.jsonl and TensorBoard events (metrics.c), the terminal (console.c), the lines of fairseq and Megatron-LM, and
 * MLflow. Losses are in nats (natural logarithm), rates in SI units. */
#pragma once

#include "eval/task_scores.h"
#include "train/config/config.h"
#include "train/trainer/metrics/records.h"

#include <jansson.h>

/* The functions below write nothing if metrics is NULL; ranks other than 0 pass NULL. */
typedef struct Metrics Metrics;

/* Opens DIR/metrics.jsonl and DIR/tb for a run that continues after the point `at`. Removes lines and events of later
 * steps and an incomplete last line, so that every step is logged once. config: the options log.*; NULL means their
 * defaults. */
Metrics *metrics_open(const char *dir, RunPoint at, const LogConfig *config, GError **error);
/* Adds the lines of fairseq: printed if log.format asks for them and, if `filed`, in DIR/train_inner.jsonl, whose lines
 * of more than `updates` updates are removed. If that file cannot be continued, a warning says so. */
void metrics_add_fairseq(Metrics *metrics, const char *dir, int64_t updates, bool filed);
/* The error that ends the run, for MLflow; NULL means that it is complete. To be called before metrics_close. */
void metrics_end(Metrics *metrics, const GError *problem);
void metrics_close(Metrics *metrics);

/* To be called after each update of this process, which read this number of tokens. */
void metrics_update(Metrics *metrics, int64_t tokens);
void metrics_train(Metrics *metrics, const TrainRecord *record);
void metrics_valid(Metrics *metrics, const ValidRecord *record);
/* Writes the metrics (Metric) of a task's scores over n examples. name: of the task's held-out set; NULL means none. */
void metrics_scores(Metrics *metrics, int64_t step, const char *name, const GArray *scores, int64_t n, double seconds);
/* Records a saved checkpoint. seconds: time that writing took; stall: time that training waited for it. */
void metrics_save(Metrics *metrics, int64_t step, const char *folder, double seconds, double stall);
/* Writes a record of kind "event" with the text `what`: "skipped: …", "train.length changed from …". */
void metrics_event(Metrics *metrics, int64_t step, const char *what);
/* The event of an error that ends the command. */
void metrics_failure(Metrics *metrics, int64_t step, const char *what);
/* Records that a process starts or continues the run: an event with the text `what`, whose "start" holds the plan of
 * the run and a description of the machine. Frees `start`. */
void metrics_start(Metrics *metrics, int64_t step, const char *what, json_t *start);
/* Shows texts in TensorBoard: answers of an evaluation; the first 32 KiB of them are also a record of kind "sample" of
 * metrics.jsonl. name: of the task's held-out set; NULL means none. */
void metrics_samples(Metrics *metrics, int64_t step, const char *name, const char *markdown);
/* Writes the whole configuration to TensorBoard as text, and to MLflow as parameters. */
void metrics_options(Metrics *metrics, int64_t step, const Config *config);

/* What metrics_open removes outside the run directory DIR, in a store of MLflow: copies it to the folder `to`, nothing
 * if there is none; and replaces it by the copy in `from`. */
bool metrics_keep(const char *dir, const char *to, GError **error);
bool metrics_put_back(const char *dir, const char *from, GError **error);
