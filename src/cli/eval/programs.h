/* programs.h: `loam eval MODEL --task humaneval` and other tasks whose answers are programs, judged by tests. */
#pragma once

#include "eval/programs/programs.h"
#include "run/config/config.h"
#include "run/model_path.h"

typedef struct ProgramEvalOptions {
    int64_t samples;         /* evaluate only this many problems from the start of the file; 0 means all */
    const char *predictions; /* JSON lines with completions made elsewhere; NULL means that the model generates them */
    const char *out; /* file for the results, one JSON object per completion; existing results are kept and not tested
                        again. NULL means none */
    bool json;       /* print scores as JSON objects */
    const char *k;   /* values of k for pass@k: "1,10,100" */
    int64_t n;       /* number of completions that the model generates per problem */
    int64_t beams;   /* 1 means no beam search */
    double length_penalty;     /* length penalty of beam search */
    double temperature, top_p; /* temperature 0 means greedy decoding */
    int64_t seed;
    const char *const *stop; /* texts before which a completion ends; NULL means those of the task */
    double timeout_s;        /* wall-clock time per program; 0 means programs_timeout */
    ProgramOptions run;
} ProgramEvalOptions;

/* Tests completions of the problems of task.valid and prints pass@k to standard output. loaded is NULL if
 * options->predictions is given. */
bool eval_programs(const LoadedModel *loaded, const Config *config, const char *model_path,
                   const ProgramEvalOptions *options, GError **error);
