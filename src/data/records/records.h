/* records.h: one stream of records for corpora (data/corpus) and labelled data (data/task): opens a file in one of
 * several formats and gives its records, whose fields record.c reads. Memory use is bounded by the longest record, for
 * RECORD_JSON by the file. A format is a file of this folder and a row of a list of RECORD_FORMATS. */
#pragma once

#include "base/error.h"

#include <jansson.h>
#include <signal.h>
#include <stdint.h>

/* ---- record.c: one record: a row of a table, a JSON line, an item of nested lists in JSON, or a text ---- */

#define RECORD_LEVELS 8

/* A record from nested JSON consists of several objects (levels), each of which contains the next: in SQuAD the file,
 * an article, a paragraph and a question. A text has no level, any other record has one. */
typedef struct Record {
    const json_t *levels[RECORD_LEVELS]; /* the objects, the innermost last; they belong to the reader */
    int n_levels;
    const char *where;      /* "train.tsv:17", for errors */
    const char *text;       /* JSON lines: the unchanged line of the file; a text, if there are no levels; else NULL */
    size_t text_bytes;      /* its length, if there are no levels */
    const char *columns;    /* for errors: names of the columns of a table; NULL means that the record is from JSON */
    const char *short_name; /* a field that is cut to its first (or last) short_bytes bytes; NULL means none */
    size_t short_bytes;
    bool short_start; /* true: the last bytes of that text are kept; false: the first bytes */
    bool replaced;    /* some U+FFFD stand for characters that no text can hold (RecordSource.any_text) */
} Record;

/* Appends the texts (char *, freed with g_free) of a field. A name with dots leads into objects: "passage.text". A list
 * in this path gives the texts of all its items, or of one item: "test_list.0" is the first. A number n that is not the
 * name of a column means column n of a table, counted from 1. If several levels have a field of this name, the
 * innermost level counts. Numbers, true and false are written as in JSON. *found becomes false if the record has no
 * such field or the field is null. Fails if the field is no text. */
bool record_texts(const Record *record, const char *name, GPtrArray *texts, bool *found, GError **error);
/* The JSON value of a field; NULL if there is none. */
const json_t *record_value(const Record *record, const char *name);
/* Whether the record has the field, or the one that the first part of a name with dots names. */
bool record_has(const Record *record, const char *name);
/* What a value is: "a number". */
const char *record_type_name(const json_t *value);
/* Sets the error for a field that the record lacks or that is null; returns false. */
bool record_fail_missing(const Record *record, const char *name, GError **error);
/* record_fail_missing for the first of `fields` (char *) that the record lacks. */
bool record_fail_missing_of(const Record *record, const GPtrArray *fields, GError **error);
/* The name of a column whose name another one has, too: "NAME (column 3)". number: counted from 1; g_free. */
char *record_twin_name(const char *name, guint number);
/* The record as one line of JSON, without its end, which RECORD_COPY reads. rows: RecordSource.rows; the lists that it
 * leads through, of the record's neighbours, are left out. free(). */
char *record_copy(const Record *record, const char *rows);

/* ---- files of records (records.c) ---- */

/* The formats. A row is X(name in the enum, name in options): the RecordKind of X(CSV, csv) is csv_records. */
#define RECORD_FORMATS(X) RECORD_ROW_FORMATS(X) RECORD_TASK_FORMATS(X) RECORD_TEXT_FORMATS(X) RECORD_OWN_FORMATS(X)
/* Formats of labelled data (task.format) and of corpora (--input-format):
 * TSV: a table; cells are separated by tabs, quotes are text
 * CSV: a table; cells are separated by commas, quotes as in RFC 4180
 * JSONL: one object per line
 * PARQUET: a table of columns; a field may be a number, a list or an object, too */
#define RECORD_ROW_FORMATS(X) X(TSV, tsv) X(CSV, csv) X(JSONL, jsonl) X(PARQUET, parquet)
/* Formats of labelled data only:
 * JSON: the whole file is one JSON value, and RecordSource.rows says where its records are
 * PARALLEL: several files, such as "a.en,a.de": line i of each file is a field of record i; the field's name is the
 * suffix of the file ("en", "de")
 * CONLL: one word per line, with columns separated by spaces or tabs; an empty line ends a sentence. A record is a
 * sentence; a field is a column, a list of texts */
#define RECORD_TASK_FORMATS(X) X(JSON, json) X(PARALLEL, parallel) X(CONLL, conll)
/* Formats of corpora only:
 * TEXT: empty lines end records
 * FILE: the whole file is a record */
#define RECORD_TEXT_FORMATS(X) X(TEXT, text) X(FILE, file)
/* Formats that no option names:
 * COPY: lines of record_copy
 * PARTS: the whole file is a record, or parts of it are that have at most most_bytes bytes */
#define RECORD_OWN_FORMATS(X) X(COPY, copy) X(PARTS, parts)

#define RECORD_ENUM(NAME, name) RECORD_##NAME,
typedef enum RecordFormat {
    RECORD_AUTO, /* the format that the file's name suggests */
    RECORD_FORMATS(RECORD_ENUM)
} RecordFormat;
#undef RECORD_ENUM
/* "tsv|csv|…": the formats that --input-format names. */
#define RECORD_BAR(NAME, name)     "|" #name
#define RECORD_CORPUS_FORMAT_NAMES (&(RECORD_ROW_FORMATS(RECORD_BAR) RECORD_TEXT_FORMATS(RECORD_BAR))[1])
extern const char *const record_format_names[];        /* of labelled data: "auto", "tsv", …, NULL; by RecordFormat */
extern const char *const record_corpus_format_names[]; /* "tsv", …, NULL */

/* What is true of all files of a format. */
typedef struct RecordTraits {
    bool values;     /* records have fields, which record.c reads; false: they are texts */
    bool columns;    /* each record has the same fields: errors name them */
    char delimiter;  /* the character between cells, unless an option sets another one; 0 means that there are none, and
                        that header, delimiter and quotes of RecordSource have no effect. Corpora leave out files of
                        folders that have one */
    bool names_read; /* RecordSource.columns has an effect */
} RecordTraits;
const RecordTraits *record_traits(RecordFormat format);

typedef enum RecordChoice { RECORD_BY_FORMAT, RECORD_YES, RECORD_NO } RecordChoice;
extern const char *const record_choice_names[]; /* "auto", "true", "false", NULL */

typedef struct RecordSource {
    const char *path; /* one file, or for RECORD_PARALLEL several, separated by commas; perhaps compressed */
    RecordFormat format;
    const char *
        rows; /* RECORD_JSON: path of the records, whose "[]" stand for the items of lists: "data[].paragraphs[].qas[]";
                 "[]" means that the whole value is a list of records; "" or NULL means that no path was given */
    RecordChoice header; /* tables: whether the first line names the columns; RECORD_BY_FORMAT means that it does
                            unless `columns` are given */
    const char *columns; /* tables: names of the columns, "a,b,c", in place of those of a header; "" or NULL means those
                            of the header, else 1, 2, 3, … */
    char delimiter; /* tables: the character between cells; 0 means that of the format. With RECORD_AUTO, a file whose
                       name says no format is read like .csv */
    const char *delimiter_option; /* the option that chooses `delimiter`, for messages; NULL means task.delimiter */
    RecordChoice quotes;          /* tables: whether cells may be quoted; RECORD_BY_FORMAT means only in .csv */
    char *const *fields; /* NULL-terminated list of the fields that will be asked for, with dots as in record_texts;
                            those of other columns of Parquet are null. NULL means all */
    bool any_text; /* JSON lines: escapes that no text can hold, of a NUL or half a surrogate pair, are read as U+FFFD
                      (Record.replaced); false: they are errors */

    /* Of a corpus: */
    bool texts;             /* JSON lines: only texts are wanted: any numbers, repeated fields and NULs are accepted */
    RecordFormat otherwise; /* RECORD_JSONL: the format of a file whose first line is not an object with the field
                               `first_field` (NULL means any object); RECORD_AUTO means that it is an error */
    const char *first_field;
    size_t most_bytes;     /* longest line, and longest record of a text, in bytes; 0 means 64 MiB */
    const char *longer;    /* appended to the error about a longer one */
    bool probe;            /* RECORD_FILE: nothing says that the file is text */
    bool without_last_end; /* RECORD_PARTS: the line end of the last line is left out */
    bool *foreign;         /* becomes true with an error which says that a file is no text; NULL means none */
    const volatile sig_atomic_t
        *interrupted; /* a flag that a signal handler sets to end the file early; NULL means none */
} RecordSource;

/* Sets *format to the format of a source; for RECORD_AUTO it is found by the path. An unknown suffix is an error. */
bool record_source_format(const RecordSource *source, RecordFormat *format, GError **error);
/* The format of a corpus file by the end of its name, without that of a compression; RECORD_AUTO means none. */
RecordFormat record_corpus_format_of_name(const char *path);
/* Whether the end of a name tells a format of corpora whose records have fields. */
bool record_name_has_values(const char *path);
/* The format of this name in --input-format; RECORD_AUTO means none. */
RecordFormat record_corpus_format_find(const char *name);
/* Sets *delimiter to the character that an option names: "," ";" "|" "\t"; "" gives 0. False for other names. */
bool record_delimiter_find(char *delimiter, const char *name);

typedef struct RecordReader RecordReader;
RecordReader *record_reader_open(const RecordSource *source, GError **error);
void record_reader_close(RecordReader *reader);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RecordReader, record_reader_close)
/* Reads the next record, which is valid until the next call. Returns false at the end of the file (error unset), or on
 * an error that names file and line; after one about a bad row (record_reader_goes_on) the next call continues. */
bool record_reader_next(RecordReader *reader, Record *record, GError **error);
/* Whether record_reader_next can continue after its last error: true if only one row was bad. */
bool record_reader_goes_on(const RecordReader *reader);
/* Whether the last error was about a line that is too long to be skipped. */
bool record_reader_is_endless(const RecordReader *reader);
/* The format that is read: RecordSource.format, or the one found for it. */
RecordFormat record_reader_format(const RecordReader *reader);
/* What became of line ends, for a warning. */
#define RECORD_CRLF "lines end in CRLF: the text is read without the CRs"
#define RECORD_CR   "lines end in CR, as on old Macs: each CR is read as a line end"
/* What became of the line ends of a text so far; NULL means nothing: "lines end in CRLF: …". */
const char *record_reader_line_ends(const RecordReader *reader);
/* Number of bytes on disk that have been read. */
uint64_t record_reader_offset(const RecordReader *reader);

/* Callback of record_each_line: `line` has `bytes` bytes and a NUL for the line end; the callback may change it. */
typedef bool (*RecordLineFn)(void *context, char *line, size_t bytes, GError **error);
/* Calls `use` for every line of a text file, until `use` returns false. Lines are split as in Python: each ends with
 * "\n", "\r\n" or "\r", the last one perhaps without. interrupted: a flag that a signal handler sets to stop with an
 * error; NULL means none. */
bool record_each_line(const char *path, const volatile sig_atomic_t *interrupted, RecordLineFn use, void *context,
                      GError **error);
/* Removes the CR of every CRLF in `text`; returns the number of bytes that are left. */
size_t record_drop_returns(char *text, size_t bytes);
