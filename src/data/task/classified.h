/* classified.h: sets the fields of a TaskExample that only classifiers use: second text, words and tags, answers and
 * their positions in the text, choices, and the right label. */
#pragma once

#include "data/task/task.h"

/* Sets the fields that only classifiers use from a record; out->input must already be set. */
bool classified_take(const Task *task, const Record *record, TaskExample *out, GError **error);
