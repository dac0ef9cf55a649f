/* classify.h: what the classifier of an encoder says of the examples of a task, many examples side by side. */
#pragma once

#include "data/task/task.h"
#include "eval/answers.h"

typedef struct Classify Classify;
/* For examples encoded for `task`, whose sequences have at most `length` tokens. model and task must outlive it. */
Classify *classify_open(Model *model, const Task *task, int64_t length, GError **error);
void classify_close(Classify *classify);
/* out (n): the name of the class, the number, the tags with spaces between, the answer ("" for none), or the number of
 * the choice; with the log-probability of that, and the probabilities of all classes or choices. */
bool classify_run(Classify *classify, const TaskExample *examples, const TaskInputs *inputs, int32_t n, Answer *out,
                  GError **error);
