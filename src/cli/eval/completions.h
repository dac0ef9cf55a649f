/* completions.h: lets a model generate completions of programs. */
#pragma once

#include "cli/eval/programs.h"

typedef struct ProgramItem {
    Problem problem;
    TaskExample example;            /* the prompt */
    int64_t n, passed, passed_base; /* number of tested completions; number that passed; number that passed the original
                                       tests (Trial) */
} ProgramItem;

/* Appends options->n completions (Trial) for each of the items first … first + n - 1 to `trials`. */
bool completions_generate(const LoadedModel *loaded, TaskEncoder *encoder, ProgramItem *const *items, int64_t first,
                          int64_t n, const ProgramEvalOptions *options, GArray *trials, GError **error);
