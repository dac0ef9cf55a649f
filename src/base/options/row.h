/* options/row.h: the rows of an option table and the values of options; only for the files of this folder. */
#pragma once

#include "base/options/options.h"

/* All rows of a table (const OptionRow *), ordered by their groups; free with g_ptr_array_unref. */
GPtrArray *option_rows(const OptionTable *table);
bool option_opens_group(const GPtrArray *rows, guint i); /* whether row i is the first row of its group */
/* The address of an option's value in a configuration. */
void *option_field(const OptionTable *table, const void *config, const OptionRow *row);

/* Parts of an option's name GROUP.KEY: option_key returns KEY, option_group_length the length of GROUP. */
const char *option_key(const char *name);
size_t option_group_length(const char *name);
bool option_same_group(const char *a, const char *b);

/* Parses `text` and stores the value in the field of an option; on an error the field keeps its value. Error messages
 * name the option and the values that it accepts. */
bool option_value_parse(void *field, const OptionRow *row, const char *text, GError **error);
/* The value of an option as text, from which option_value_parse reads the same value; free with g_free. */
char *option_value_format(const void *field, const OptionRow *row);
/* The range of an option for messages, "between 0 and 10"; NULL if the option has no limits. Free with g_free. */
char *option_range_text(const OptionRow *row);

/* Converts a YAML list (OptionSetting.items) to "ITEM,ITEM" of an OPT_LIST option; NULL on an error. g_free. */
char *option_list_join(const OptionRow *row, const GPtrArray *items, GError **error);
/* The keys of an OPT_LIST option that has some, for messages: "path, weight". Free with g_free. */
char *option_list_keys(const OptionRow *row);
