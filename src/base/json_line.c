#include "base/json_line.h"

#include "base/check.h"
#include "base/error.h"
#include "base/file.h"

#include <math.h>
#include <string.h>

json_t *json_finite(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

const char *json_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

json_t *json_ids(const int32_t *ids, int64_t n)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < n; i++)
        json_array_append_new(array, json_integer(ids[i]));
    return array;
}

bool json_fail(const json_error_t *reason, GError **error)
{
    if (json_error_code(reason) == json_error_null_character)
        return fail_user(error, "\\u0000, a NUL, is no character of a text; write \\ufffd in its place");
    return fail_user(error, "not JSON: %s", reason->text);
}

bool json_write_file(const char *path, const json_t *value, size_t flags, const char *end, GError **error)
{
    char *json = json_dumps(value, flags);
    CHECK(json, "%s: a value is no JSON", path);
    g_autofree char *text = g_strconcat(json, end, NULL);
    free(json);
    return io_write_file(path, text, strlen(text), error);
}

bool print_json_line(json_t *object, GError **error)
{
    char *line = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    if (line == NULL)
        return fail_user(error, "a name or a text is not UTF-8, which JSON must be: leave --json out");
    puts(line);
    free(line);
    return true;
}
