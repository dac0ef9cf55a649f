/* programs.h: `loam eval MODEL --task humaneval` and the other tasks whose completions are programs that tests decide
 * about. */
#pragma once

#include "eval/programs/programs.h"
#include "train/config/config.h"
#include "train/model_path.h"

typedef struct ProgramEvalOptions {
    int64_t samples;           /* problems from the start of the file; 0 means all */
    const char *predictions;   /* JSON lines with completions of another program; NULL means that the model writes */
    const char *out;           /* NULL, or a file for the results, a JSON object a completion; those that it has stay */
    bool json;                 /* scores as JSON objects */
    const char *k;             /* the k of pass@k: "1,10,100" */
    int64_t n;                 /* completions of a problem that the model writes */
    int64_t beams;             /* 1 means no beam search */
    double length_penalty;     /* of beam search */
    double temperature, top_p; /* temperature 0 means the likeliest token each time */
    int64_t seed;
    char *const *stop; /* texts before which a completion ends; NULL means those of the task */
    double timeout_s;  /* of a program; 0 means that of the benchmark */
    ProgramOptions run;
} ProgramEvalOptions;

/* Tests completions of the problems of task.valid and prints pass@k to standard output. loaded: NULL where
 * `predictions` are given. */
bool eval_programs(const LoadedModel *loaded, const Config *config, const char *model_path,
                   const ProgramEvalOptions *options, GError **error);
