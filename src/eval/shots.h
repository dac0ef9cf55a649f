/* shots.h: few-shot prompts: labelled examples with their right answers before an input. */
#pragma once

#include "data/task/task.h"

typedef struct ShotOptions {
    int64_t n; /* examples before each input */
    uint64_t seed;
    const char *separator; /* after each example */
} ShotOptions;

typedef struct Shots Shots;
/* Reads the labelled examples of the file; a bad row is an error as in training. The options must outlive it. */
Shots *shots_open(const Task *task, const TaskConfig *config, const TaskFile *file, const ShotOptions *options,
                  GError **error);
void shots_close(Shots *shots);          /* NULL is ignored */
uint64_t shots_hash(const Shots *shots); /* of the options and of all examples that may be drawn */
/* The white space that comes between an input and its target in a prompt: none where the target begins with white
 * space or the input ends with it, else a space. */
const char *shots_gap(const char *input, const char *target);
/* The prompt of an example: for each of n others INPUT GAP TARGET SEPARATOR, then the example's input. The others are
 * drawn without replacement by a hash of seed and input, from those with another input than its own; an error
 * where there are fewer than n. Where the prompt has more tokens than the encoder takes beside n_target, it loses
 * examples from its start. g_free. */
char *shots_prompt(Shots *shots, const TaskEncoder *encoder, const TaskExample *example, int64_t n_target,
                   GError **error);
/* Logs how many examples were left out of how many prompts. */
void shots_report(const Shots *shots, const TaskEncoder *encoder, const char *what);
