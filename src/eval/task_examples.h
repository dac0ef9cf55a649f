/* task_examples.h: the labelled examples that a model is evaluated on. Where the task's records share an id
 * (Task.merge_ids), one example has the right answers of all of them. */
#pragma once

#include "data/task/task.h"

typedef struct TaskExamples TaskExamples;
/* task, config and the path of `file` must outlive it. */
TaskExamples *task_examples_open(const Task *task, const TaskConfig *config, const TaskFile *file, GError **error);
void task_examples_close(TaskExamples *examples);
/* As task_reader_next. */
bool task_examples_next(TaskExamples *examples, TaskExample *example, Record *record, GError **error);
/* Bad records that task.on_error=skip left out so far. */
int64_t task_examples_skipped(const TaskExamples *examples);
