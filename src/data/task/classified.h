/* classified.h: the fields of a TaskExample that only classifiers use: second text, words and tags, answers and their
 * places in the text, choices, and the right label. */
#pragma once

#include "data/task/task.h"

/* Sets these fields from a record; out->input must be set. */
bool classified_take(const Task *task, const Record *record, TaskExample *out, GError **error);
