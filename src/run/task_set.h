/* task_set.h: the file PREFIX.task.yaml, which `loam task prepare` writes beside a dataset: the options task.* that the
 * dataset was made with. A run that evaluates the dataset needs them to score answers, because scores need all right
 * answers, groups and labels, and a dataset holds only one target per example. */
#pragma once

#include "data/task/task.h"

/* Writes PREFIX.task.yaml, with absolute paths of the labelled files. */
bool task_set_write(const char *prefix, const TaskConfig *config, GError **error);
/* Reads PREFIX.task.yaml into *config, which is zeroed; free with task_set_clear, also after an error. *found becomes
 * false if there is no such file. */
bool task_set_read(const char *prefix, TaskConfig *config, bool *found, GError **error);
void task_set_clear(TaskConfig *config);
