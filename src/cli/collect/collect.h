/* collect.h: `loam collect`: the scores of many runs in one table. */
#pragma once

#include "base/error.h"

#include <glib.h>
#include <stdbool.h>

typedef enum CollectFormat { COLLECT_TEXT, COLLECT_MARKDOWN, COLLECT_TSV, COLLECT_LATEX, COLLECT_JSON } CollectFormat;

typedef struct CollectOptions {
    bool last;          /* metrics of each run's last evaluation; false means those of its best checkpoint */
    bool by_path;       /* a row is a folder, without a seed-N at its end; false means a row is a setting of options */
    const char *scores; /* names of metrics, separated by commas; NULL or "" means the main ones of the scores */
    CollectFormat format;
    int digits; /* after the decimal point */
} CollectOptions;

/* Prints the table of the runs in these folders, and in the folders below them. */
bool collect_runs(char *const *paths, int n, const CollectOptions *options, GError **error);
