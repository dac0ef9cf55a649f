/* run.h: what a report tells of one run, read from its folder. */
#pragma once

#include "report/series.h"
#include "run/run_status.h"

#include <jansson.h>

/* Metrics that a run logs for its steps. */
typedef enum ReportTrace {
    TRACE_LOSS,
    TRACE_LR,
    TRACE_NORM,
    TRACE_SPEED,
    TRACE_SCALE,
    TRACE_MEMORY,
    TRACE_ACCURACY,
    TRACE_MFU,
    TRACE_FLOPS, /* FLOP/s of the steps */
    TRACE_PEAK,  /* FLOP/s of matrix products, measured between the steps */
    TRACE_FILL,  /* packing efficiency */
    TRACE_COUNT
} ReportTrace;

/* One metric that a run logs for evaluations: of a held-out set or of a task. */
typedef struct ReportMetric {
    char *set, *name; /* names of the set and the metric, "rte" and "accuracy"; set "" means the only set */
    bool score;       /* the metric is a score of a task's answers */
    Series series;
    double last, best; /* best: the lowest loss or perplexity, the highest of any other metric */
    int64_t last_step, best_step;
} ReportMetric;

/* The kinds of events, and their ReportKindNames. END: the run ended by itself; ERROR: an error ended the command. */
#define REPORT_KINDS(X)                                                                                                \
    X(START, "start", "start", "starts")                                                                               \
    X(STOP, "stop", "stop", "stops")                                                                                   \
    X(END, "end", "end", "ends")                                                                                       \
    X(ERROR, "error", "error", "errors")                                                                               \
    X(SPIKE, "spike", "loss spike", "loss spikes")                                                                     \
    X(BACK, "back", "rollback", "rollbacks")                                                                           \
    X(SKIPPED, "skipped", "skipped step", "skipped steps")                                                             \
    X(SAVE, "save", "save", "saves")                                                                                   \
    X(OTHER, "other", "note", "notes")

#define REPORT_KIND(kind, ...) KIND_##kind,
typedef enum ReportKind { REPORT_KINDS(REPORT_KIND) KIND_COUNT } ReportKind;
typedef struct ReportKindNames {
    const char *css, *one, *several; /* CSS class; "loss spike"; "loss spikes" */
} ReportKindNames;
extern const ReportKindNames report_kinds[];

typedef struct ReportEvent {
    ReportKind kind;
    int64_t step;
    double wall_s, time; /* seconds of the run so far; Unix seconds; NAN means unknown */
    char *what;
} ReportEvent;

typedef struct ReportSample {
    int64_t step;
    char *name, *text; /* of the task's held-out set, "" means the only one; Markdown: titles and indented texts */
} ReportSample;

typedef struct ReportRun {
    char *dir, *name;
    RunStatus status;
    Series traces[TRACE_COUNT];
    GPtrArray *metrics;         /* ReportMetric */
    char *first_set;            /* name of the first set of its data.valid; NULL means no metrics.jsonl */
    GPtrArray *events;          /* ReportEvent, in the order of the file; of each kind only the last ones are kept */
    int64_t counts[KIND_COUNT]; /* number of events of each kind, including those that are not kept */
    Series marks[KIND_COUNT];   /* steps of these events */
    GPtrArray *samples;         /* ReportSample, of the last step that has some */
    int64_t killed;             /* number of commands that ended without a word: the next start follows another start */
    bool open;                  /* the newest start has no stop, end or error after it */
    bool loss_missing;          /* the last training record has no loss */
    json_t *start;              /* the last record of a start; NULL means none */
    int64_t step;               /* step of the last training record; -1 means none */
    double tokens, samples_trained, wall_s; /* tokens read, samples trained on, and seconds of the run, at the last
                                               record */
    double memory;                          /* largest memory of the process, bytes; NAN means unknown */
    int64_t skipped_lines;                  /* number of lines of metrics.jsonl that are not valid records */
} ReportRun;

/* Limits: number of last events of a kind that are always kept; of metrics; of samples; of characters of a text. */
enum { REPORT_EVENTS = 100, REPORT_METRICS = 200, REPORT_SAMPLES = 12, REPORT_TEXT = 32768 };

/* Reads a run. A run without metrics.jsonl, as before its first step, or with damaged lines is no error. */
bool report_run_read(ReportRun *run, const char *dir, GError **error);
/* A copy of the first `most` characters, with "…" after them if the text is longer. Control characters, except line
 * ends, become spaces. g_free. */
char *report_clean(const char *text, glong most);
/* The metric of the run with these names; NULL if it has none. */
ReportMetric *report_metric(const ReportRun *run, const char *set, const char *name, bool score);
void report_run_clear(ReportRun *run);
