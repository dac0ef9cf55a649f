/* record.h: one record: a row of a table, a JSON line, an item of nested lists in JSON, or a text. */
#pragma once

#include "base/error.h"

#include <jansson.h>

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
    const char *short_name; /* name of a field whose text is shortened to its first (or last) short_bytes bytes; NULL
                               means none */
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
