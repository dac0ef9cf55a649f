/* many.h: `loam train --seeds` and `--sweep`: several runs of one configuration, one after another. */
#pragma once

#include "base/error.h"

#include <glib.h>
#include <stdbool.h>

typedef struct ManyRuns {
    const char *path; /* CONFIG.yaml */
    char **overrides; /* (n_overrides) group.key=value */
    int n_overrides;
    const char *seeds; /* a number of seeds, from 1 on, or a list of them: "7,8,9"; NULL means the configured one */
    char **sweeps;     /* OPTION=VALUE,VALUE…, ends with NULL; NULL means none */
} ManyRuns;

/* Trains RUN/SETTING/seed-N for each combination of values and each seed, RUN being run.dir of the configuration, and
 * prints the table of their scores (cli/collect). A run that has ended is not trained again. All configurations are
 * checked before the first run starts. A run that fails by a user's error, such as a rate at which the loss is not
 * finite, leaves the others to be trained, and is the error in the end. */
bool train_many(const ManyRuns *many, GError **error);
