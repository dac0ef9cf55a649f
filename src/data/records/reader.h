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

/* How a format is read: the constant NAME_records for each row of RECORD_FORMATS. */
typedef struct RecordKind {
    const char *suffixes[4];        /* ends of the names of its files among labelled data */
    const char *corpus_suffixes[4]; /* the same in a corpus */
    RecordTraits traits;
    Returns returns; /* for reader->lines */
    /* Opens what the format reads: reader_open_lines, or for another kind of file a function of its own. */
    bool (*open)(RecordReader *reader, GError **error);
    /* Gives records: sets reader->text_bytes, or calls reader_take_*. Formats without lines also set reader->where. */
    Found (*next)(RecordReader *reader, GError **error);
    void (*close)(RecordReader *reader); /* frees reader->own; NULL means that it is not used */
    uint64_t (*offset)(
        const RecordReader *reader); /* bytes on disk that have been read; NULL means those of lines[0] */
    bool numbered;   /* a record's position is its number within the file ("x.json: record 3"), not the line */
    bool keeps_line; /* Record.text is the line of the file */
} RecordKind;
/* The fields of a RecordKind that all have. */
#define RECORD_READ(returns_, open_, next_) .returns = (returns_), .open = (open_), .next = (next_)

#define RECORD_KIND(NAME, name) extern const RecordKind name##_records;
RECORD_FORMATS(RECORD_KIND)
#undef RECORD_KIND

struct RecordReader {
    RecordSource source; /* strings are borrowed, except `path` */
    RecordFormat format;
    const RecordKind *kind;
    char *path;
    Lines *lines[RECORD_FILES]; /* the file; RECORD_PARALLEL: all files */
    int n_files;                /* 0 means that the format does not read lines */
    void *own;                  /* what else the format keeps */
    GString *where;             /* position of the record, or of an error: "train.tsv:17" */
    bool broken;                /* after an error no record can be read */

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
