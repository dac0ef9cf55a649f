/* metric_lines.h: the reader of metrics.jsonl: the records of a run, one after another, in bounded memory. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Opens a metrics.jsonl; *file becomes NULL if there is none. Fails for folders, devices and FIFOs, which may block. */
bool metric_lines_open(FILE **file, const char *path, GError **error);
/* Parses one line, with or without its end. NULL means that it is no JSON object. Takes what other programs write: NaN
 * and Infinity (Python) become null, a "step" of 12.0 (pandas) 12, and a byte order mark is ignored. json_decref. */
json_t *metric_record(const char *line, size_t bytes);

typedef enum MetricKind {
    METRIC_TRAIN,  /* a log line of training */
    METRIC_VALID,  /* losses of a held-out set */
    METRIC_SCORE,  /* scores of a task's held-out set */
    METRIC_SAMPLE, /* a text that the model wrote */
    METRIC_SAVE,
    METRIC_EVENT, /* a start, a stop, a spike, … */
    METRIC_OTHER
} MetricKind;
extern const char *const metric_kind_names[]; /* "train", …: the "kind" of a record */

#define METRIC_START_FAILED                                                                                            \
    "the start failed: " /* an event of a command that ended before it started the run begins so */

typedef struct MetricRecord {
    MetricKind kind;
    int64_t step;    /* -1 means none */
    const char *set; /* name of the held-out set; "" means the only one */
    /* METRIC_VALID: of the first set of the run's data.valid as the last start has it; the first record of an
     * evaluation; of a set whose name is now that of other data. `set` is the name that the set's data have now. */
    bool first_set, leads, replaced;
    json_t *json; /* all of the record */
} MetricRecord;

typedef struct MetricReader {
    MetricRecord record; /* the one that metric_reader_next has read, until the next call */
    int64_t skipped;     /* lines so far that are longer than 64 KiB or no JSON objects; not an incomplete last line */
    int64_t replaced;  /* the last step so far with a record of other data under the first set's name; -1 means none */
    char *first_set;   /* name of the first set of data.valid; NULL means that nothing was evaluated */
    char *path, *line; /* private, as all below */
    FILE *file;
    long begin;               /* of the first line */
    json_t *sets, *sets_here; /* the held-out sets of the last start, and of the last one so far; NULL means unknown */
    int64_t valid_step;       /* of the record before; -2 means that it has no held-out loss */
    bool of_end;
} MetricReader;

/* Opens DIR/metrics.jsonl; a folder without one is an error. Close the reader only if this returned true. */
bool metric_reader_open(MetricReader *reader, const char *dir, GError **error);
/* Opens the last 256 KiB of DIR/metrics.jsonl, from the first line that begins there. There a NUL, which a machine that
 * lost its power may leave, ends a line, and a last line without an end counts. False if there is no such file. */
bool metric_reader_open_end(MetricReader *reader, const char *dir);
/* Reads the next record, in the file's order; a killed and resumed run may have a step twice. False at the end. */
bool metric_reader_next(MetricReader *reader);
/* The hash of the samples of the first set of data.valid, once a record of it was read; NULL means unknown, as in a run
 * of an earlier version. */
const char *metric_reader_held_out(const MetricReader *reader);
/* Fails if the file could not be read to its end. */
bool metric_reader_close(MetricReader *reader, GError **error);
/* The number of this name in a record; NAN if it has none. */
double metric_number(const json_t *record, const char *name);
/* The "step" of a record; -1 if it has none. */
int64_t metric_step(const json_t *record);
/* Whether a key of a record of scores is a score's name. */
bool metric_is_score(const char *key);
