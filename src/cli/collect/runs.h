/* runs.h: finds runs for `loam collect` and reads their options and the metrics of one evaluation. */
#pragma once

#include "cli/collect/collect.h"
#include "run/result.h"

typedef struct CollectedRun {
    char *dir;           /* run directory, as found */
    char *task;          /* name of the task, or of its file; "" means none */
    GPtrArray *settings; /* OptionSetting *: the options in its config.yaml */
    RunResult result;
    bool failed;    /* its process ended with an error, such as a loss that is not finite */
    bool untrained; /* its best checkpoint is step 0: the model that it started from */
    char *row;      /* name of the row that the run belongs to */
} CollectedRun;

/* The runs in these folders and their subfolders: CollectedRun *, freed with the array. They are ordered as `paths`,
 * and by name within a path. A run without an evaluation is left out with a warning. */
GPtrArray *collected_runs(char *const *paths, int n, const CollectOptions *options, GError **error);
