/* collect.h: `loam collect`: prints the scores of many runs in one table. */
#pragma once

#include "base/error.h"

#include <glib.h>
#include <stdbool.h>

typedef enum CollectFormat { COLLECT_TEXT, COLLECT_MARKDOWN, COLLECT_TSV, COLLECT_LATEX, COLLECT_JSON } CollectFormat;

typedef struct CollectOptions {
    bool last;          /* use the metrics of each run's last evaluation; false means those of its best checkpoint */
    bool by_path;       /* one row per folder; a suffix seed-N is ignored, so that seeds share a row. false: one row per
                           combination of options */
    const char *scores; /* names of metrics, separated by commas; NULL or "" means the main ones (metric_is_main), and
                           the losses of a run without scores */
    CollectFormat format;
    int digits; /* number of digits after the decimal point */
} CollectOptions;

/* Prints the table of all runs in these folders and their subfolders. */
bool collect_runs(char *const *paths, int n, const CollectOptions *options, GError **error);
