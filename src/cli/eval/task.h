/* task.h: `loam eval MODEL --task`: a model answers the examples of a task. */
#pragma once

#include "train/config/config.h"
#include "train/model_path.h"

typedef struct TaskEvalOptions {
    int64_t samples; /* examples from the start of the file; 0 means all */
    int32_t beams;
    const char *out; /* NULL, or a file for the predictions, a JSON object a line */
    bool json;       /* scores as JSON objects */
    int rank;        /* RankBy: choose among the task's labels; -1 means that the model writes its answers */
    bool no_eos;     /* rank: EOS after a label does not count */
    int64_t shots;   /* labelled examples of task.data before each input */
    uint64_t shots_seed;
    const char *separator; /* after each of them */
    int64_t resamples;     /* of a bootstrap, for intervals of the scores; 0 means none */
    double confidence;     /* share of the resamples in an interval, in percent */
    uint64_t resample_seed;
} TaskEvalOptions;

/* Answers the examples of task.valid and prints the task's scores to standard output. */
bool eval_task(LoadedModel *loaded, const Config *config, const char *model_path, const TaskEvalOptions *options,
               GError **error);
