/* options/row.h: rows of an option table and their values, for the files of this folder. */
#pragma once

#include "base/options/options.h"

/* Every row of the table (const OptionRow *), those of a group together; g_ptr_array_unref. */
GPtrArray *option_rows(const OptionTable *table);
const OptionRow *option_row_at(const GPtrArray *rows, guint i);
bool option_opens_group(const GPtrArray *rows, guint i); /* whether row i is the first of its group */
/* Where a configuration keeps the value of an option. */
void *option_field(const OptionTable *table, const void *config, const OptionRow *row);

/* An option's name is GROUP.KEY. */
const char *option_key(const char *name);
size_t option_group_length(const char *name);
bool option_same_group(const char *a, const char *b);

/* Parses text into the field of an option, which keeps its value on an error. Errors name the option and what it
 * accepts. */
bool option_value_parse(void *field, const OptionRow *row, const char *text, GError **error);
/* The text that option_value_parse reads back to the same value; g_free. */
char *option_value_format(const void *field, const OptionRow *row);
/* "between 0 and 10"; NULL means there are no limits. g_free. */
char *option_range_text(const OptionRow *row);

/* The value "ITEM,ITEM" of an OPT_LIST option whose YAML is a list of maps (OptionSetting.items); NULL on an error.
 * g_free. */
char *option_list_join(const OptionRow *row, const GPtrArray *items, GError **error);
/* The keys of an item's map, for messages: "path, weight". g_free. */
char *option_list_keys(const OptionRow *row);
