/* task_examples.h: reads the labelled examples that a model is evaluated on. With Task.merge_ids, records that share an
 * id become one example with the right answers of all of them. */
#pragma once

#include "data/task/task.h"

typedef struct TaskExamples TaskExamples;
/* task, config and file->path must outlive the TaskExamples. */
TaskExamples *task_examples_open(const Task *task, const TaskConfig *config, const TaskFile *file, GError **error);
void task_examples_close(TaskExamples *examples);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TaskExamples, task_examples_close)
/* Reads the next example, with the same arguments and result as task_reader_next. */
bool task_examples_next(TaskExamples *examples, TaskExample *example, Record *record, GError **error);
/* Number of invalid records that task.on_error=skip left out so far. */
int64_t task_examples_skipped(const TaskExamples *examples);
