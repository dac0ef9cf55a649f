/* task_eval.h: the held-out examples of a task, read and encoded once, which a model in training answers at each
 * evaluation. The labelled file is not read again. */
#pragma once

#include "eval/answer_batch.h"
#include "eval/task_scores.h"

typedef struct TaskEval TaskEval;
/* Reads the examples of `file`, or n of them (0 means all), chosen by a hash of their number or of their group, the
 * same ones in every run. *encoder is copied; what it points to must outlive the evaluation. NULL with no error where
 * not every example has its right answer, or there is none. */
TaskEval *task_eval_open(const TaskEncoder *encoder, const TaskFile *file, int64_t n, GError **error);
void task_eval_close(TaskEval *eval);
int64_t task_eval_count(const TaskEval *eval); /* examples that are answered */
int64_t task_eval_total(const TaskEval *eval); /* examples of the file */
/* An error where a score of the task cannot be computed whatever the model answers, such as F1 of three labels: the
 * scores of the right answers themselves are computed. */
bool task_eval_check(const TaskEval *eval, GError **error);
/* A hash of the chosen examples and their right answers. */
uint64_t task_eval_hash(const TaskEval *eval);
/* Answers all examples, greedily, and appends the figures of the task's scores (Figure). stop, asked before each batch,
 * abandons the evaluation with LOAM_ERROR_STOPPED; NULL means never. Shows progress on a terminal. */
bool task_eval_run(TaskEval *eval, Model *model, bool (*stop)(void), GArray *figures, GError **error);
