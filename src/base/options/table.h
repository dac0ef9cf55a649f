/* options/table.h: the rows of an option table, one by one and group by group. */
#pragma once

#include "base/options/options.h"

/* Every row of the table in order (const OptionRow *); g_ptr_array_unref. */
GPtrArray *option_rows(const OptionTable *table);
const OptionRow *option_row_at(const GPtrArray *rows, guint i);
/* Where a configuration keeps the value of an option. */
void *option_field(const OptionTable *table, const void *config, const OptionRow *row);

/* An option's name is GROUP.KEY. */
const char *option_key(const char *name);
size_t option_group_length(const char *name);
bool option_same_group(const char *a, const char *b);
/* Whether row i is the first of its group. */
bool option_opens_group(const GPtrArray *rows, guint i);
/* Calls `visit` for every row, the rows of a group together; `opens` is true at the first of each group. */
void options_by_group(const OptionTable *table, void (*visit)(const OptionRow *row, bool opens, gpointer data),
                      gpointer data);
