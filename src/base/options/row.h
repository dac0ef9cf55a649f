/* options/row.h: rows of an option table and their values, only for the files of this folder. */
#pragma once

#include "base/options/options.h"

/* Every row of the table (const OptionRow *), those of a group together; free with g_ptr_array_unref. */
GPtrArray *option_rows(const OptionTable *table);
const OptionRow *option_row_at(const GPtrArray *rows, guint i);
bool option_opens_group(const GPtrArray *rows, guint i); /* whether row i is the first of its group */
/* The address of an option's value in a configuration. */
void *option_field(const OptionTable *table, const void *config, const OptionRow *row);

/* Parts of an option's name GROUP.KEY: option_key returns KEY, option_group_length the length of GROUP. */
const char *option_key(const char *name);
size_t option_group_length(const char *name);
bool option_same_group(const char *a, const char *b);

/* Parses text into the field of an option; on an error the field keeps its value. Error messages name the option and
 * what it accepts. */
bool option_value_parse(void *field, const OptionRow *row, const char *text, GError **error);
/* The text that option_value_parse reads back to the same value; free with g_free. */
char *option_value_format(const void *field, const OptionRow *row);
/* "between 0 and 10", or NULL if the option has no limits. Free with g_free. */
char *option_range_text(const OptionRow *row);

/* Joins the YAML list of maps (OptionSetting.items) of an OPT_LIST option to its value "ITEM,ITEM"; NULL on an error.
 * Free with g_free. */
char *option_list_join(const OptionRow *row, const GPtrArray *items, GError **error);
/* The keys of an item's map, for messages: "path, weight". Free with g_free. */
char *option_list_keys(const OptionRow *row);
