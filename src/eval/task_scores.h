/* task_scores.h: the scores of a task (Task.scores) over predictions and right answers. Each value of a score is a
 * figure with a name: "accuracy", "squad.f1", "rouge.rouge_l". */
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

/* ---- figures ---- */

typedef struct Figure {
    char *name; /* g_free */
    double value;
} Figure;
GArray *figures_new(void); /* of Figure; it owns the names */
/* The figures of all scores of the task: Figure, appended. */
bool task_scores_figures(const TaskScores *scores, GArray *figures, GError **error);
/* The name of value i of a score: NAME where the value is called like its score, else NAME.VALUE. g_free. */
char *figure_name(const ScoreKind *kind, int i);
/* Whether a figure is what tables show, and not a part or a count of another: precision, length, … */
bool figure_is_main(const char *name);
/* The full name of the figure that the user calls `name`: a figure, the value of one score alone ("f1" of "squad.f1"),
 * or a score, which means its first value. g_free; NULL with an error that lists the figures of the task. */
char *task_figure_find(const Task *task, const char *name, GError **error);
/* The value of a figure; NaN where there is none of this name. */
double figures_value(const GArray *figures, const char *name);
