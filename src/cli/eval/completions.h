/* completions.h: completions of programs that a model writes. */
#pragma once

#include "cli/eval/programs.h"

typedef struct ProgramItem {
    Problem problem;
    TaskExample example;            /* the prompt */
    int64_t n, passed, passed_base; /* completions that were tested, that passed */
} ProgramItem;

/* Appends options->n completions (Trial) of each of the items [first, first + n) to `trials`. */
bool completions_generate(const LoadedModel *loaded, TaskEncoder *encoder, ProgramItem *const *items, int64_t first,
                          int64_t n, const ProgramEvalOptions *options, const char *const *stop, GArray *trials,
                          GError **error);
