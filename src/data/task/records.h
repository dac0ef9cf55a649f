/* records.h: reads the records of a file of labelled data, in one of several formats. */
#pragma once

#include "data/task/cells.h"
#include "data/task/record.h"

typedef enum RecordFormat {
    RECORD_AUTO,     /* the format that the file's name suggests */
    RECORD_TSV,      /* a table: cells are separated by tabs, quotes are text */
    RECORD_CSV,      /* a table: cells are separated by commas, quotes as in RFC 4180 */
    RECORD_JSONL,    /* one object per line */
    RECORD_JSON,     /* the whole file is one JSON value, and RecordSource.rows says where its records are */
    RECORD_PARALLEL, /* several files, such as "a.en,a.de": line i of each file is a field of record i; the field's name
                        is the suffix of the file ("en", "de") */
    RECORD_CONLL,    /* one word per line, with columns separated by spaces or tabs; an empty line ends a sentence. A
                        record is a sentence; a field is a column, a list of texts */
    RECORD_COPY,     /* no name of a format: lines of record_copy.h */
} RecordFormat;
extern const char *const record_format_names[]; /* "auto", "tsv", …, NULL */

typedef enum RecordChoice { RECORD_BY_FORMAT, RECORD_YES, RECORD_NO } RecordChoice;
extern const char *const record_choice_names[]; /* "auto", "true", "false", NULL */

typedef struct RecordSource {
    const char *path; /* one file, or for RECORD_PARALLEL several, separated by commas; plain, .gz or .zst */
    RecordFormat format;
    const char *
        rows; /* RECORD_JSON: path of the records, whose "[]" stand for the items of lists: "data[].paragraphs[].qas[]";
                 "[]" means that the whole value is a list of records; "" means that no path was given */
    RecordChoice header; /* tables: whether the first line names the columns; RECORD_BY_FORMAT means yes */
    const char
        *columns; /* tables without header: names of the columns, "a,b,c"; "" means that their names are 1, 2, 3, … */
    char delimiter; /* tables: the character between cells; 0 means that of the format. With RECORD_AUTO, a file whose
                       name says no format is read like .csv */
    RecordChoice quotes; /* tables: whether cells may be quoted; RECORD_BY_FORMAT means only in .csv */
    bool any_text; /* JSON lines: escapes that no text can hold, of a NUL or half a surrogate pair, are read as U+FFFD
                      (Record.replaced); false: they are errors */
} RecordSource;

/* Sets *format to the format of a source; for RECORD_AUTO it is found by the path. An unknown suffix is an error. */
bool record_source_format(const RecordSource *source, RecordFormat *format, GError **error);

typedef struct RecordReader RecordReader;
RecordReader *record_reader_open(const RecordSource *source, GError **error);
void record_reader_close(RecordReader *reader);
/* Reads the next record, which is valid until the next call. Returns false at the end of the file (error unset), or on
 * an error that names file and line. After an error about a bad row (see record_reader_goes_on) the next call continues
 * with the next row. */
bool record_reader_next(RecordReader *reader, Record *record, GError **error);
/* Whether record_reader_next can continue after its last error: true if only one row was bad. */
bool record_reader_goes_on(const RecordReader *reader);
