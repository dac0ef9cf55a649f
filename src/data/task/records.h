/* records.h: reads the records of a file of labelled data. */
#pragma once

#include "data/task/cells.h"
#include "data/task/record.h"

typedef enum RecordFormat {
    RECORD_AUTO,     /* chosen by the name of the file */
    RECORD_TSV,      /* a table: cells are separated by tabs, quotes are text */
    RECORD_CSV,      /* a table: cells are separated by commas, quotes as in RFC 4180 */
    RECORD_JSONL,    /* one object per line */
    RECORD_JSON,     /* the whole file is one JSON value, and RecordSource.rows says where its records are */
    RECORD_PARALLEL, /* several files "a.en,a.de": line i of all files is record i, its fields are the suffixes "en",
                        "de" */
    RECORD_CONLL,    /* one word per line, with columns separated by spaces or tabs; empty lines separate sentences: a
                        record is a sentence, a field is a column (a list) */
} RecordFormat;
extern const char *const record_format_names[]; /* "auto", "tsv", …, NULL */

typedef enum RecordChoice { RECORD_BY_FORMAT, RECORD_YES, RECORD_NO } RecordChoice;
extern const char *const record_choice_names[]; /* "auto", "true", "false", NULL */

typedef struct RecordSource {
    const char *path; /* one file, or for RECORD_PARALLEL several, separated by commas; plain, .gz or .zst */
    RecordFormat format;
    const char *rows;    /* JSON: the lists that lead to a record, "data[].paragraphs[].qas[]"; "[]" means that the
                            whole value is a list; "" means none */
    RecordChoice header; /* tables: whether the first line names the columns; by default it does */
    const char *columns; /* tables without header: names "a,b,c"; "" means that columns are 1, 2, 3, … */
    RecordChoice quotes; /* tables: whether cells may be quoted; by default only in .csv */
} RecordSource;

/* The format of the source; for RECORD_AUTO, found by its path. */
bool record_source_format(const RecordSource *source, RecordFormat *format, GError **error);

typedef struct RecordReader RecordReader;
RecordReader *record_reader_open(const RecordSource *source, GError **error);
void record_reader_close(RecordReader *reader);
/* Reads the next record, which is valid until the next call. Returns false at the end (error unset), or on an error
 * that names the place; after a bad row (see record_reader_goes_on) the next call continues with the next row. */
bool record_reader_next(RecordReader *reader, Record *record, GError **error);
/* Whether reading can continue after the last error. */
bool record_reader_goes_on(const RecordReader *reader);
