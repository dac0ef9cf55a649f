/* task_eval.h: the held-out examples of a task, which a model answers at each evaluation during training. They are read
 * and encoded once; the labelled file is not read again. */
#pragma once

#include "eval/answer_batch.h"
#include "eval/task_scores.h"

typedef struct TaskEval {
    TaskEncoder encoder;
    AnswerBatch batch;
    GPtrArray *examples; /* TaskExample *: those that are answered */
    int64_t total;       /* number of examples in the file */
    uint64_t hash;       /* of the chosen examples and their right answers */
    GPtrArray *answers;  /* char *: those of the last run, in the order of the examples */
} TaskEval;
/* Reads n examples of `file` (0 means all), chosen by a hash of their number, or of their group's name, so that every
 * run chooses the same ones. *encoder is copied; objects that it points to must outlive the TaskEval. Examples whose
 * right answer is not known are left out; the result is NULL without an error if none remains. */
TaskEval *task_eval_open(const TaskEncoder *encoder, const TaskFile *file, int64_t n, GError **error);
void task_eval_close(TaskEval *eval);
/* Logs how many inputs of a decoder-only model were shortened, to leave room for the longest answer. Other models read
 * them as training does, which reports the same numbers. path: the file's. */
void task_eval_report(const TaskEval *eval, const char *path);
/* Computes the scores of the right answers themselves, and so fails early if a score of the task cannot be computed,
 * such as F1 with three labels. */
bool task_eval_check(const TaskEval *eval, GError **error);
/* Answers all examples, greedily, and appends the metrics of the task's scores (Metric), the same on all ranks. Each
 * rank answers every size-th batch of ANSWER_BATCH examples, where size is the number of ranks. stop is called before
 * each batch; if it returns true, the evaluation ends with LOAM_ERROR_STOPPED. stop NULL means that nothing ends it.
 * Shows progress on a terminal. */
bool task_eval_run(TaskEval *eval, Model *model, Comm *ranks, bool (*stop)(void), GArray *metrics, GError **error);
/* The first n examples with the answers of the last task_eval_run, as Markdown; NULL before the first one. g_free. */
char *task_eval_samples(const TaskEval *eval, int64_t n);
