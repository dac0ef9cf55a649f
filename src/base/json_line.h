/* json_line.h: JSON that is written: values, files, results (one object per line); and what is wrong with JSON. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

/* The value as a JSON number, or JSON null if it is NaN or infinite, which JSON cannot express. */
json_t *json_finite(double value);
/* The string at a key of an object; "" if there is none. */
const char *json_text(const json_t *object, const char *key);
/* A JSON array of token ids. */
json_t *json_ids(const int32_t *ids, int64_t n);
/* The user's error of a text that jansson refused; returns false. */
bool json_fail(const json_error_t *reason, GError **error);
/* Writes a value as a file: its JSON by jansson's flags, then `end`. */
bool json_write_file(const char *path, const json_t *value, size_t flags, const char *end, GError **error);
/* Prints the object as a line of standard output and frees it. NULL, as of a string that is not UTF-8, is an error. */
bool print_json_line(json_t *object, GError **error);
