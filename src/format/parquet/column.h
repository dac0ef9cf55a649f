/* column.h: the entries of a leaf in their order, through all its pages. An entry is a value or a null, with two
 * levels: of repetition (the list that it continues; 0 begins a row) and of definition (how far down the tree it is not
 * null). */
#pragma once

#include "format/parquet/pages.h"
#include "format/parquet/values.h"

typedef struct Column Column;
Column *column_open(const Metadata *file, PagePool *pool, guint leaf);
void column_close(Column *column);

/* The next entry, which stays the next one until column_take. */
typedef struct Entry {
    uint32_t repetition, definition;
} Entry;

/* Sets *entry to the next entry of the row group; *found becomes false if the row group has no other one. Errors name
 * file, column and row group. */
bool column_peek(Column *column, guint group, Entry *entry, bool *found, GError **error);
/* Takes the entry that column_peek has found. *value: that of an entry with the highest definition level; its bytes are
 * valid until the next call. */
bool column_take(Column *column, Value *value, GError **error);
/* Sets an error about the column in its current row group; returns false. */
bool column_fail(const Column *column, GError **error, const char *what);
