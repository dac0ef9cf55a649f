/* shots.h: few-shot prompts: labelled examples with their answers, followed by the input to answer. */
#pragma once

#include "data/task/task.h"

typedef struct ShotOptions {
    int64_t n;             /* number of examples before each input */
    uint64_t seed;         /* seed of the choice of examples */
    const char *separator; /* text after each example */
} ShotOptions;

typedef struct Shots Shots;
/* Reads the labelled examples of the file; an invalid record is handled as in training (task.on_error). The options
 * must outlive the Shots object. */
Shots *shots_open(const Task *task, const TaskConfig *config, const TaskFile *file, const ShotOptions *options,
                  GError **error);
void shots_close(Shots *shots);          /* NULL is ignored */
uint64_t shots_hash(const Shots *shots); /* hash of the options and of all examples that may be drawn */
/* What separates input and target in a prompt: "" if one ends or the other begins with white space, else a space. */
const char *shots_gap(const char *input, const char *target);
/* The prompt for an example: INPUT GAP TARGET SEPARATOR for each of n other examples, then the example's input. The
 * others are drawn without replacement, by a hash of seed and input, among examples with a different input; it is an
 * error if there are fewer than n. Examples are removed from the start of a prompt that, with n_target tokens for the
 * answer, exceeds the TaskEncoder's length. g_free. */
char *shots_prompt(Shots *shots, const TaskEncoder *encoder, const TaskExample *example, int64_t n_target,
                   GError **error);
/* Logs how many examples were removed from prompts that were too long. what: names the prompts in the message. */
void shots_report(const Shots *shots, const TaskEncoder *encoder, const char *what);
