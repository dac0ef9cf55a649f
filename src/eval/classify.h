/* classify.h: answers the examples of a task with the classifier of a fine-tuned model, many examples in one batch. */
#pragma once

#include "data/task/task.h"
#include "eval/answers.h"

typedef struct Classify Classify;
/* Opens a Classify for examples of `task`, encoded as at most `length` tokens. model and task must outlive it. */
Classify *classify_open(Model *model, const Task *task, int64_t length, GError **error);
void classify_close(Classify *classify);
/* Answers n examples. out (n): the answer's text is the name of the class, the value, the tags separated by spaces, the
 * span ("" means no answer) or the number of the choice; with its log-probability, and the probabilities of all classes
 * or choices. Free each with answer_clear. */
bool classify_run(Classify *classify, const TaskExample *examples, const TaskInputs *inputs, int32_t n, Answer *out,
                  GError **error);
