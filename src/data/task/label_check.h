/* label_check.h: functions that both the checks of labels (task_check_example) and their encoding use. */
#pragma once

#include "data/task/task.h"

/* Sets the error for a label that is not in `classes` (names separated by commas); returns false. */
bool label_fail(const TaskConfig *config, const char *classes, const char *where, const char *name, GError **error);
/* Parses a label of LABELS_VALUE (regression). Fails unless the text is a finite number. */
bool label_parse_value(const char *where, const char *text, float *value, GError **error);
/* The class names of an example with a label: one, or for LABELS_TOKENS one per word. The caller frees them with
 * g_strfreev. */
GStrv label_names(const Task *task, const TaskExample *example);
