/* record.h: one record of labelled data: a row of a table, a JSON line, or an item of nested lists in JSON. */
#pragma once

#include "base/error.h"

#include <jansson.h>

#define RECORD_LEVELS 8

/* A record from nested JSON consists of several objects (levels), each of which contains the next: in SQuAD the file,
 * an article, a paragraph and a question. Any other record has one level. */
typedef struct Record {
    const json_t *levels[RECORD_LEVELS]; /* the objects, the innermost last; they belong to the reader */
    int n_levels;
    const char *where;      /* "train.tsv:17", for errors */
    const char *text;       /* JSON lines: the unchanged line of the file; NULL in other formats */
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
 * innermost level counts. Numbers, true and false are written as in JSON. Returns false without an error if the record
 * has no such field or the field is null; false with an error if the field is no text. */
bool record_texts(const Record *record, const char *name, GPtrArray *texts, GError **error);
/* The JSON value of a field; NULL if there is none. */
const json_t *record_value(const Record *record, const char *name);
/* Sets the error for a field that the record lacks or that is null; returns false. */
bool record_fail_missing(const Record *record, const char *name, GError **error);
/* record_fail_missing for the first of `fields` (char *) that the record lacks. */
bool record_fail_missing_of(const Record *record, const GPtrArray *fields, GError **error);
