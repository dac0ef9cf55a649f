/* options/value.h: the value of one option as text and in memory. */
#pragma once

#include "base/options/options.h"

/* Parses text into the field of an option, which keeps its value on an error. Errors name the option and what it
 * accepts. */
bool option_value_parse(void *field, const OptionRow *row, const char *text, GError **error);
/* The text that option_value_parse reads back to the same value; g_free. */
char *option_value_format(const void *field, const OptionRow *row);
/* "between 0 and 10"; NULL means there are no limits. g_free. */
char *option_range_text(const OptionRow *row);
