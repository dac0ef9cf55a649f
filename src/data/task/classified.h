/* classified.h: the parts of an example that classifiers read: second text, words and tags, answers and their places,
 * choices, and the right label. */
#pragma once

#include "data/task/task.h"

/* Sets them from a record whose input is set. */
bool classified_take(const Task *task, const Record *record, TaskExample *out, GError **error);
