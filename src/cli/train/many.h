/* many.h: `loam train --seeds` and `--sweep`: trains several runs of one configuration, one after another. */
#pragma once

#include "base/error.h"

#include <glib.h>
#include <stdbool.h>

typedef struct ManyRuns {
    const char *path; /* CONFIG.yaml */
    char **overrides; /* (n_overrides) group.key=value */
    int n_overrides;
    const char *seeds; /* the number of seeds, which are then 1, 2, …, or a list of seeds: "7,8,9"; NULL means the
                          configured seed */
    char **sweeps;     /* OPTION=VALUE,VALUE…, ends with NULL; NULL means none */
} ManyRuns;

/* Trains the run RUN/SETTING/seed-N for each combination of values and each seed, where RUN is run.dir of the
 * configuration, and prints a table of their scores (cli/collect). A finished run is not trained again. All
 * configurations are checked before the first run starts. If a run fails with LOAM_ERROR_USER, for example because the
 * loss is not finite at its learning rate, the other runs are still trained, and its error is returned in the end. */
bool train_many(const ManyRuns *many, GError **error);
