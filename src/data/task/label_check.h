/* label_check.h: functions for labels of classifiers, used to check them (task_check_example) and to encode them
 * (task_encode_labels). */
#pragma once

#include "data/task/task.h"

/* Sets the error for a label that is not in `classes` (names separated by commas); returns false. */
bool label_fail(const TaskConfig *config, const char *classes, const char *where, const char *name, GError **error);
/* Parses a label of LABELS_VALUE (regression). Fails unless the text is a finite number. */
bool label_parse_value(const char *where, const char *text, float *value, GError **error);
/* The class names that the label of an example consists of: one name, or for LABELS_TOKENS one name per word. Free with
 * g_strfreev. */
GStrv label_names(const Task *task, const TaskExample *example);
