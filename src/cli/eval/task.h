/* task.h: `loam eval MODEL --task`: a model answers the examples of a task. */
#pragma once

#include "run/config/config.h"
#include "run/model_path.h"

typedef struct TaskEvalOptions {
    int64_t samples; /* evaluate only this many examples from the start of the file; 0 means all */
    int32_t beams;
    const char *out; /* file for the predictions, one JSON object per line; NULL means none */
    bool json;       /* print scores as JSON objects */
    int rank;        /* RankBy: choose among the task's labels; -1 means that the model generates its answers */
    bool no_eos;     /* with `rank`: do not append EOS to labels */
    int64_t shots;   /* few-shot: number of labelled examples of task.data before each input */
    uint64_t shots_seed;
    const char *separator; /* text after each of these examples */
    int64_t resamples;     /* bootstrap resamples for confidence intervals; 0 means no intervals */
    double confidence;     /* share of resamples within an interval, in percent */
    uint64_t resample_seed;
} TaskEvalOptions;

/* Answers the examples of task.valid and prints the task's scores to standard output. */
bool eval_task(LoadedModel *loaded, const Config *config, const char *model_path, const TaskEvalOptions *options,
               GError **error);
