/* record.h: one record of labelled data: a row of a table, a JSON line, or an item of nested lists in JSON. */
#pragma once

#include "base/error.h"

#include <jansson.h>

#define RECORD_LEVELS 8

/* A record from nested JSON has one level per list that contains it: in SQuAD the file, the article, the paragraph and
 * the question. Any other record has one level. */
typedef struct Record {
    const json_t *levels[RECORD_LEVELS]; /* objects, the innermost last; borrowed */
    int n_levels;
    const char *where;      /* "train.tsv:17", for errors */
    const char *text;       /* JSON lines: the unchanged line of the file; NULL in other formats */
    const char *columns;    /* names of the columns of a table, for errors; NULL means JSON */
    const char *short_name; /* name of a field whose text is shortened to its first (or last) short_bytes bytes; NULL
                               means none */
    size_t short_bytes;
    bool short_start; /* keep the last bytes instead of the first */
} Record;

/* Appends the texts (char *, g_free) of a field. A name with dots leads into objects: "passage.text". A list in this
 * path gives the texts of all its items, or of one item: "test_list.0" is the first. A number n that is not a name is
 * column n of a table. The innermost level that has the name is used. Numbers, true and false are written as in JSON.
 * False without an error if the record has no such field, or it is null; false with an error if the field is no text.
 */
bool record_texts(const Record *record, const char *name, GPtrArray *texts, GError **error);
/* The JSON value of a field; NULL if there is none. */
const json_t *record_value(const Record *record, const char *name);
/* Sets the error for a field that the record lacks, or that is null; returns false. */
bool record_fail_missing(const Record *record, const char *name, GError **error);
/* record_fail_missing for the first of `fields` (char *) that the record lacks. */
bool record_fail_missing_of(const Record *record, const GPtrArray *fields, GError **error);
