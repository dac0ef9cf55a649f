/* runs.h: the runs that `loam collect` finds, each with its options and the metrics of one evaluation. */
#pragma once

#include "cli/collect/collect.h"
#include "train/result.h"

typedef struct CollectedRun {
    char *dir;           /* as found */
    char *task;          /* name of the task, or of its file; "" means none */
    GPtrArray *settings; /* OptionSetting *, of its config.yaml */
    RunResult result;
    char *row; /* name of the row that the run belongs to */
} CollectedRun;

/* The runs at and below the paths, in the order of the paths, within a path by name: CollectedRun *, freed with the
 * array. A run without an evaluation is left out and named in a warning. */
GPtrArray *collected_runs(char *const *paths, int n, const CollectOptions *options, GError **error);
