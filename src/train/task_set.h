/* task_set.h: PREFIX.task.yaml beside a held-out dataset that `loam task prepare` made: the options task.* that it was
 * made with, so that a run which evaluates the dataset can score answers to its examples. A dataset holds one target an
 * example, and scores want all right answers, groups and labels. */
#pragma once

#include "data/task/task.h"

/* Writes it; the paths of the labelled files become absolute. */
bool task_set_write(const char *prefix, const TaskConfig *config, GError **error);
/* Reads it into a zeroed configuration, which task_set_clear frees, also after an error. *found is false where the
 * dataset has no such file. */
bool task_set_read(const char *prefix, TaskConfig *config, bool *found, GError **error);
void task_set_clear(TaskConfig *config);
