/* task_scores.h: the scores of a task (Task.scores) over predictions and right answers. Each value of a score is a
 * metric with a name: "accuracy", "squad.f1", "rouge.rouge_l". */
#pragma once

#include "data/task/task.h"
#include "scores/scores.h"

typedef struct TaskScores {
    const Task *task;
    int64_t n_unknown;               /* examples without a known right answer, which are not scored */
    int64_t resamples;               /* bootstrap resamples for confidence intervals; 0 means no intervals */
    double confidence;               /* share of resamples within an interval, in percent */
    uint64_t seed;                   /* seed of the resamples */
    GPtrArray *predictions, *groups; /* char * */
    GPtrArray *references;           /* GStrv */
} TaskScores;

TaskScores task_scores_new(const Task *task);
void task_scores_free(TaskScores *scores);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TaskScores, task_scores_free)
/* Adds one example and the model's prediction, which is valid UTF-8. */
void task_scores_add(TaskScores *scores, const TaskExample *example, const char *prediction);
/* The JSON object for one example in a file of answers, which score_read reads: "prediction", "references" and "group";
 * "graded" and "graded_references" if the task compares other texts; "scores": their names and options. json_decref. */
json_t *task_scores_line(const TaskScores *scores, const TaskExample *example, const char *prediction);

/* Called with one score; context is that of task_scores_each, which ends if it returns false with an error. */
typedef bool (*TaskScoreFn)(const ScoreKind *kind, const ScoreResult *result, void *context, GError **error);
/* Computes the scores and calls `take` for each one; does nothing if no right answer is known. */
bool task_scores_each(const TaskScores *scores, TaskScoreFn take, void *context, GError **error);
/* Number of predictions that are no right answer of any example, such as *example, if a model that writes its answers
 * chooses among a few, of which there are *different ones; otherwise 0. */
int64_t task_scores_strange(const TaskScores *scores, guint *different, const char **example);
/* Fails if the task names a score that does not exist. */
bool task_scores_check(const Task *task, GError **error);
/* Fails if a score of the task needs a right answer, and the example is known to have none. where: for the message. */
bool task_scores_check_example(const Task *task, const TaskExample *example, const char *where, GError **error);
/* Fails if a score does not fit the labels: f1 of two classes of which none is 1, the positive one where task.positive
 * is not set; seqeval of tags that do not say which part of an entity a word is. `classes` are a classifier's; NULL
 * means none. */
bool task_labels_check(const Task *task, const char *classes, GError **error);

/* ---- metrics ---- */

typedef struct Metric {
    char *name; /* g_free */
    double value;
} Metric;
GArray *metric_list_new(void); /* of Metric; it owns the names */
/* Appends the metrics of all scores of the task to `metrics`. */
bool task_scores_metrics(const TaskScores *scores, GArray *metrics, GError **error);
/* Whether tables show the metric by default; false for parts of another, such as precision (F1) or length (BLEU). */
bool metric_is_main(const char *name);
/* The full name of a metric that the user abbreviates as `name`: a full name, a value that only one score has ("f1" for
 * "squad.f1"), or a score: its first value. g_free. NULL with an error that lists the task's metrics. */
char *task_metric_find(const Task *task, const char *name, GError **error);
/* The value of the metric of this name; NaN if there is none. */
double metric_value(const GArray *metrics, const char *name);
