/* eval.h: what the command line of `loam eval` sets, and its three kinds of evaluation beside the loss. */
#pragma once

#include "eval/programs/programs.h"
#include "run/config/config.h"
#include "run/model_path.h"

typedef struct EvalOptions {
    int64_t samples;  /* evaluate only so many, from the start of a task's file; 0 means all */
    int64_t beams;    /* 1 means no beam search */
    const char *out;  /* file of the results, one JSON object per line; NULL means none, or standard output of --score.
                         Results that it already holds are kept; those of another model or other inputs are an error */
    char *score_path; /* --score: JSON lines with "input" and "target", each a text or an array of ids */
    gboolean unigram, as_json, with_task;
    char *on_error;
    bool skips; /* value of --on-error: lines of --score that cannot be read are left out, not errors */

    /* tasks */
    char *rank_by;               /* choose among the task's labels; NULL means that the model generates its answers */
    gboolean no_eos;             /* with `rank_by`: do not append EOS to labels */
    int64_t shots, shots_seed;   /* few-shot: number of labelled examples of task.data before each input */
    const char *shots_separator; /* text after each of these examples, with escapes such as \n */
    int64_t resamples, resample_seed; /* bootstrap resamples for confidence intervals; 0 means no intervals */
    double confidence;                /* share of resamples within an interval, in percent */

    /* tasks whose answers are programs, judged by tests */
    const char *predictions; /* JSON lines with completions made elsewhere; NULL means that the model generates them */
    const char *k;           /* values of k for pass@k: "1,10,100" */
    int64_t n;               /* number of completions that the model generates per problem */
    double length_penalty;   /* of beam search */
    double temperature, top_p; /* temperature 0 means greedy decoding */
    int64_t seed;
    char **stop;      /* texts before which a completion ends; NULL means those of the task */
    double timeout_s; /* wall-clock time per program; 0 means programs_timeout */
    int64_t memory_mib;
    const char *python_name;
    gboolean unsafe;
    ProgramOptions run; /* its jobs: 0 means one per core; the rest follows from the options above */
} EvalOptions;

/* `loam eval --score`: the log-probability of given targets, line by line. */
bool score_file(const LoadedModel *loaded, const EvalOptions *options, GError **error);
/* `loam eval MODEL --task`: answers the examples of task.valid and prints the task's scores to standard output. */
bool eval_task(LoadedModel *loaded, const Config *config, const char *model_path, const EvalOptions *options,
               GError **error);
/* `loam eval MODEL --task humaneval` and their like: tests completions of the problems of task.valid and prints pass@k
 * to standard output. loaded is NULL if options->predictions is given. */
bool eval_programs(const LoadedModel *loaded, const Config *config, const char *model_path, const EvalOptions *options,
                   GError **error);
