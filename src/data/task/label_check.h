/* label_check.h: what the checks of labels (task_check_example) and their encoding share. */
#pragma once

#include "data/task/task.h"

/* The error of a label that is none of `classes`, names separated by commas; returns false. */
bool label_fail(const TaskConfig *config, const char *classes, const char *where, const char *name, GError **error);
/* The number of LABELS_VALUE; an error where the text is none, or not finite. */
bool label_parse_value(const char *where, const char *text, float *value, GError **error);
/* The classes of an example with a label: one, or of LABELS_TOKENS one a word. g_strfreev. */
GStrv label_names(const Task *task, const TaskExample *example);
