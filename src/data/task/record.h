/* record.h: one record of labelled data: a row of a table, a JSON line, or an item of nested lists in JSON. */
#pragma once

#include "base/error.h"

#include <jansson.h>

#define RECORD_LEVELS 8

/* A record from nested JSON has a level for each list that leads to it: in SQuAD the file, the article, the paragraph
 * and the question. Any other record has one level. */
typedef struct Record {
    const json_t *levels[RECORD_LEVELS]; /* objects, the innermost last; borrowed */
    int n_levels;
    const char *where;      /* "train.tsv:17", for errors */
    const char *text;       /* JSON lines: the line as it stands in the file; NULL in other formats */
    const char *columns;    /* names of the columns of a table, for errors; NULL means JSON */
    const char *short_name; /* NULL, or a field whose text counts as the first short_bytes of it, or the last ones */
    size_t short_bytes;
    bool short_start; /* the text loses its start */
} Record;

/* Appends the texts (char *, g_free) of a field. Names with dots lead into objects: "passage.text"; lists on the way
 * give the texts of all their items, or of one: "test_list.0" is the first; a number n that is no name is column n of a
 * table. The innermost level that has the name counts. Numbers are written as in JSON, true and false too. False with
 * no error where the record has no such field, or null; false with an error where the field is no text. */
bool record_texts(const Record *record, const char *name, GPtrArray *texts, GError **error);
/* The JSON value of a field; NULL means there is none. */
const json_t *record_value(const Record *record, const char *name);
/* The error of a field that a record lacks, or that is null; returns false. */
bool record_fail_missing(const Record *record, const char *name, GError **error);
/* The same of the first of `fields` (char *) that the record lacks. */
bool record_fail_missing_of(const Record *record, const GPtrArray *fields, GError **error);
