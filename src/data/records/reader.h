/* reader.h: the fields of a RecordReader, for the formats of this folder. */
#pragma once

#include "data/records/lines.h"
#include "data/records/records.h"

#define RECORD_FILES 16 /* most files of RECORD_PARALLEL */

/* A record within a JSON value: the objects that lead to it. */
typedef struct Path {
    const json_t *levels[RECORD_LEVELS];
    int n;
} Path;

/* How a format is read. */
typedef struct RecordKind {
    const char *suffixes[3]; /* ends of the names of its files */
    Returns returns;         /* for reader->lines */
    /* Opens what the format reads: reader_open_lines, or for another kind of file a function of its own. */
    bool (*open)(RecordReader *reader, GError **error);
    /* Gives records: sets reader->text, or calls a function reader_take_*. */
    Found (*next)(RecordReader *reader, GError **error);
    bool columns; /* errors about fields name the columns */
} RecordKind;

struct RecordReader {
    RecordSource source; /* strings are borrowed, except `path` */
    RecordFormat format;
    const RecordKind *kind;
    char *path;
    Lines *lines[RECORD_FILES]; /* the file; RECORD_PARALLEL: all files */
    int n_files;
    GString *where; /* position of the record, or of an error: "train.tsv:17" */
    bool broken;    /* after an error no record can be read */

    /* Records of texts (RECORD_TEXT, RECORD_PARTS, RECORD_FILE): */
    GString *document;
    size_t text_bytes; /* length of the record; RECORD_PARTS: the bytes of `document` after it are of the next record */
    bool skipping;     /* the rest of a record that cannot be read is being skipped */

    /* Records of values: */
    json_t *root;  /* the JSON value that owns the current record */
    GArray *paths; /* of Path: the records within root */
    guint next;
    GStrv steps;   /* the parts of RecordSource.rows: "data[]", "paragraphs[]", "qas[]" */
    bool replaced; /* Record.replaced */

    /* Tables, RECORD_PARALLEL, RECORD_CONLL: */
    GStrv columns;      /* names of the columns; NULL until the first row is known */
    char *columns_text; /* the same, for errors */
    bool header;        /* the next row has the names of the columns */
    struct Row *row;    /* tables: the current row (table.c) */
};

/* Opens the file as lines. */
bool reader_open_lines(RecordReader *reader, GError **error);
/* Sets reader->where to the current line of the file. */
void reader_set_where(RecordReader *reader);
/* The next line of a file, whose text is checked; for formats whose rows are lines. */
Found reader_next_line(RecordReader *reader, Lines *lines, GError **error);
/* The next line of the file that is not blank. */
Found reader_next_row(RecordReader *reader, GError **error);
/* Whether a row has only white space. */
bool reader_is_blank(const char *row);
/* Sets the names of the columns, and takes ownership of them; two equal ones are an error. */
bool reader_set_columns(RecordReader *reader, GStrv names, GError **error);
/* Takes ownership of a value, and of the records that it holds by reader->steps. */
Found reader_take_root(RecordReader *reader, json_t *root, GError **error);
/* The name without .gz or .zst; g_free. */
char *reader_stem(const char *path);

/* ---- the formats; each next_* gives the next record ---- */

/* text.c */
Found text_next_block(RecordReader *reader, GError **error);
Found text_next_part(RecordReader *reader, GError **error);
Found text_next_file(RecordReader *reader, GError **error);
/* json_lines.c */
bool json_lines_open(RecordReader *reader, GError **error);
Found json_lines_next(RecordReader *reader, GError **error);
/* json.c */
bool json_open(RecordReader *reader, GError **error);
Found json_next(RecordReader *reader, GError **error);
/* table.c */
bool table_open(RecordReader *reader, GError **error);
Found table_next(RecordReader *reader, GError **error);
void table_free(struct Row *row);
/* conll.c */
bool conll_open(RecordReader *reader, GError **error);
Found conll_next(RecordReader *reader, GError **error);
/* parallel.c */
bool parallel_open(RecordReader *reader, GError **error);
Found parallel_next(RecordReader *reader, GError **error);
/* record_copy.c */
Found copy_next(RecordReader *reader, GError **error);
