/* collect.h: `loam collect`: prints the scores of many runs in one table. */
#pragma once

#include "run/history.h"

typedef enum CollectFormat { COLLECT_TEXT, COLLECT_MARKDOWN, COLLECT_TSV, COLLECT_LATEX, COLLECT_JSON } CollectFormat;

typedef struct CollectOptions {
    bool last;          /* use the metrics of each run's last evaluation; false means those of its best checkpoint */
    bool by_path;       /* one row per folder; a suffix seed-N is ignored, so that seeds share a row. false: one row per
                           combination of options */
    const char *scores; /* names of metrics, separated by commas; NULL or "" means the main ones (metric_is_main), and
                           the losses of a run without scores */
    CollectFormat format;
    int digits;                /* number of digits after the decimal point */
    const char *const *former; /* folders of runs whose options are not those that the table is of; NULL means none */
} CollectOptions;

/* Prints the table of all runs in these folders and their subfolders. */
bool collect_runs(char *const *paths, int n, const CollectOptions *options, GError **error);

/* Hashes of what a run began with: its training set, and the model of train.init; 0 means
 * unknown, or no such model. */
typedef struct RunSources {
    int64_t data, init;
} RunSources;

/* A run, with its options and the metrics of one evaluation. */
typedef struct CollectedRun {
    char *dir;           /* run directory, as found */
    char *task;          /* name of the task, or of its file; "" means none */
    GPtrArray *settings; /* OptionSetting *: the options in its config.yaml */
    RunResult result;
    char *changes;  /* its options that were changed on the way (run_changes_read); NULL means none */
    bool former;    /* CollectOptions.former has it */
    bool failed;    /* its process ended with an error, such as a loss that is not finite */
    bool untrained; /* its best checkpoint is step 0: the model that it started from */
    RunSources sources;
    uint64_t evaluated_on; /* hash of the task's examples to evaluate on, or of the first held-out set; 0: unknown */
    char *named;           /* the options that distinguish rows, with the run's values */
    char *row;             /* name of the row that the run belongs to */
} CollectedRun;

/* The runs in these folders and their subfolders: CollectedRun *, freed with the array. They are ordered as `paths`,
 * and by name within a path. A run without an evaluation is left out with a warning. */
GPtrArray *collected_runs(char *const *paths, int n, const CollectOptions *options, GError **error);

/* ---- the options and the data of runs, as `loam compare` and `loam collect` compare them ---- */

/* By the newest checkpoint of the run; all 0 if there is none. */
RunSources run_sources(const char *dir);

/* For run_settings_read: the hash of each tokenizer read so far, and the tokenizer.path of its first run. */
GHashTable *run_settings_tokenizers(void);

/* Adds the options in DIR/config.yaml to `settings`. A run that was continued by its folder names its own copy of the
 * tokenizer; so that runs of one tokenizer have one tokenizer.path, that of the first of them replaces those of the
 * others. A run without a checkpoint, which has no hash, keeps its path. */
bool run_settings_read(GPtrArray *settings, GHashTable *tokenizers, const char *dir, GError **error);
