/* task_scores.h: the scores of a task (Task.scores) over predictions and right answers. Each value of a score is a
 * metric with a name: "accuracy", "squad.f1", "rouge.rouge_l". */
#pragma once

#include "data/task/task.h"
#include "eval/scores/scores.h"

#include <jansson.h>

typedef struct TaskScores {
    const Task *task;
    bool joined;                     /* a decoder alone: right answers lose the space at their start */
    int64_t n_unknown;               /* examples without a known right answer, which are not scored */
    int64_t resamples;               /* of a bootstrap, for intervals; 0 means none */
    double confidence;               /* share of the resamples in an interval, in percent */
    uint64_t seed;                   /* of the resamples */
    GPtrArray *predictions, *groups; /* char * */
    GPtrArray *references;           /* GStrv */
} TaskScores;

TaskScores task_scores_new(const Task *task, bool joined);
void task_scores_free(TaskScores *scores);
/* Keeps what the scores compare. prediction: valid UTF-8. */
void task_scores_add(TaskScores *scores, const TaskExample *example, const char *prediction);
/* What a file of answers says of an example, as score_read takes it: "prediction"; "references", "graded" and
 * "graded_references" where the task compares other texts than those; "group"; "scores", which are the names and the
 * options. A new reference. */
json_t *task_scores_line(const TaskScores *scores, const TaskExample *example, const char *prediction);

/* Takes one score; context is that of task_scores_each. False ends the list with the error. */
typedef bool (*TaskScoreFn)(const ScoreKind *kind, const ScoreResult *result, void *context, GError **error);
/* Computes the scores one after another; none where no right answer is known. */
bool task_scores_each(const TaskScores *scores, TaskScoreFn take, void *context, GError **error);
/* An error where the task names a score that does not exist. */
bool task_scores_check(const Task *task, GError **error);

/* ---- metrics ---- */

typedef struct Metric {
    char *name; /* g_free */
    double value;
} Metric;
GArray *metric_list_new(void); /* of Metric; it owns the names */
/* The metrics of all scores of the task: Metric, appended. */
bool task_scores_metrics(const TaskScores *scores, GArray *metrics, GError **error);
/* The name of value i of a score: NAME where the value is called like its score, else NAME.VALUE. g_free. */
char *metric_name(const ScoreKind *kind, int i);
/* Whether a metric is what tables show, and not a part or a count of another: precision, length, … */
bool metric_is_main(const char *name);
/* The full name of the metric that the user calls `name`: a metric, the value of one score alone ("f1" of "squad.f1"),
 * or a score, which means its first value. g_free; NULL with an error that lists the metrics of the task. */
char *task_metric_find(const Task *task, const char *name, GError **error);
/* The value of a metric; NaN where there is none of this name. */
double metric_value(const GArray *metrics, const char *name);
