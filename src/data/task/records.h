/* records.h: the records of a file of labelled data. */
#pragma once

#include "data/task/cells.h"
#include "data/task/record.h"

typedef enum RecordFormat {
    RECORD_AUTO,     /* by the name of the file */
    RECORD_TSV,      /* a table: cells between tabs, quotes are text */
    RECORD_CSV,      /* a table: cells between commas, quotes as in RFC 4180 */
    RECORD_JSONL,    /* an object a line */
    RECORD_JSON,     /* the whole file is one value, RecordSource.rows says where its records are */
    RECORD_PARALLEL, /* several files "a.en,a.de": line i of each makes record i, fields are the suffixes "en", "de" */
    RECORD_CONLL,    /* a word a line, columns between spaces or tabs, sentences between empty lines: a record is a
                        sentence, its fields are columns, each a list */
} RecordFormat;
extern const char *const record_format_names[]; /* "auto", "tsv", …, NULL */

typedef enum RecordChoice { RECORD_BY_FORMAT, RECORD_YES, RECORD_NO } RecordChoice;
extern const char *const record_choice_names[]; /* "auto", "true", "false", NULL */

typedef struct RecordSource {
    const char *path; /* a file, or with RECORD_PARALLEL several, separated by commas; plain, .gz or .zst */
    RecordFormat format;
    const char *rows;    /* JSON: the lists that lead to a record, "data[].paragraphs[].qas[]"; "[]" means that the
                            whole value is a list; "" means none */
    RecordChoice header; /* tables: the first line names the columns; by default it does */
    const char *columns; /* tables without header: names "a,b,c"; "" means that columns are 1, 2, 3, … */
    RecordChoice quotes; /* tables: cells may be quoted; by default in .csv alone */
} RecordSource;

/* The format of the source, by its path where the source leaves it open. */
bool record_source_format(const RecordSource *source, RecordFormat *format, GError **error);

typedef struct RecordReader RecordReader;
RecordReader *record_reader_open(const RecordSource *source, GError **error);
void record_reader_close(RecordReader *reader);
/* Reads the next record, which is valid until the next call. Returns false at the end (error unset), or on an error
 * that names the place; after a bad row (record_reader_goes_on) the next call goes on with the one after it. */
bool record_reader_next(RecordReader *reader, Record *record, GError **error);
bool record_reader_goes_on(const RecordReader *reader);
