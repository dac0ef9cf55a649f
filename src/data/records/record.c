#include "data/records/records.h"

#include "base/text.h"

#include <string.h>

/* ---- finding ---- */

/* The n-th value of an object, counted from 1, if `name` is a number n. */
static const json_t *find_column(const json_t *row, const char *name)
{
    char *end;
    gint64 wanted = g_ascii_strtoll(name, &end, 10), at = 0;
    const char *key;
    json_t *value;
    if (end == name || *end || wanted < 1)
        return NULL;
    json_object_foreach((json_t *)(uintptr_t)row, key, value) if (++at == wanted) return value;
    return NULL;
}

/* The value of the first part of a dotted name, from the innermost level that has it; *rest becomes the text after the
 * dot. A key that equals the whole name, dots included, takes precedence. */
static const json_t *find_first(const Record *record, const char *name, const char **rest)
{
    const char *dot = strchr(name, '.');
    g_autofree char *head = dot ? g_strndup(name, (gsize)(dot - name)) : NULL;
    *rest = NULL;
    for (int level = record->n_levels - 1; level >= 0; level--) {
        const json_t *value = json_object_get(record->levels[level], name);
        if (value == NULL && head && (value = json_object_get(record->levels[level], head)) != NULL)
            *rest = dot + 1;
        if (value)
            return value;
    }
    return record->columns ? find_column(record->levels[0], name) : NULL;
}

const json_t *record_value(const Record *record, const char *name)
{
    const char *rest;
    const json_t *value = find_first(record, name, &rest);
    while (value && rest) {
        const char *dot = strchr(rest, '.');
        g_autofree char *head = dot ? g_strndup(rest, (gsize)(dot - rest)) : g_strdup(rest);
        value = json_object_get(value, head);
        rest = dot ? dot + 1 : NULL;
    }
    return value;
}

bool record_has(const Record *record, const char *name)
{
    const char *rest;
    return find_first(record, name, &rest) != NULL;
}

const char *record_type_name(const json_t *value)
{
    static const char *const names[] = { "an object", "an array", "a string", "a number",
                                         "a number",  "true",     "false",    "null" };
    return names[json_typeof(value)];
}

/* ---- texts ---- */

static void add_record_text(const Record *record, const char *name, GPtrArray *texts, const char *text)
{
    size_t n = strlen(text);
    if (record->short_name == NULL || strcmp(record->short_name, name) != 0 || n <= record->short_bytes)
        g_ptr_array_add(texts, g_strdup(text));
    else if (record->short_start)
        g_ptr_array_add(texts, g_strdup(text + n - record->short_bytes));
    else
        g_ptr_array_add(texts, g_strndup(text, record->short_bytes));
}

/* The item of a list whose index (from 0) is the first part of *rest; *rest becomes the text after it. NULL if that
 * part is not an index of the list. */
static const json_t *find_item(const json_t *list, const char **rest)
{
    char *end = NULL;
    const guint64 i = *rest && g_ascii_isdigit(**rest) ? g_ascii_strtoull(*rest, &end, 10) : 0;
    const json_t *item = end && (*end == '.' || *end == '\0') ? json_array_get(list, (size_t)i) : NULL;
    if (item)
        *rest = *end == '.' ? end + 1 : NULL;
    return item;
}

/* Appends the texts of a value, following the rest of the dotted name. */
static bool add_texts(const Record *record, const char *name, const json_t *value, const char *rest, GPtrArray *texts,
                      bool *found, GError **error)
{
    *found = value != NULL && !json_is_null(value);
    if (!*found)
        return true;
    const json_t *item = json_is_array(value) ? find_item(value, &rest) : NULL;
    if (item)
        return add_texts(record, name, item, rest, texts, found, error);
    if (json_is_array(value)) {
        bool any = json_array_size(value) == 0;
        for (size_t i = 0; i < json_array_size(value); i++) {
            if (!add_texts(record, name, json_array_get(value, i), rest, texts, found, error))
                return false;
            any |= *found;
        }
        *found = any;
        return true;
    }
    if (rest) {
        const char *dot = strchr(rest, '.');
        g_autofree char *head = dot ? g_strndup(rest, (gsize)(dot - rest)) : g_strdup(rest);
        return add_texts(record, name, json_object_get(value, head), dot ? dot + 1 : NULL, texts, found, error);
    }
    if (json_is_object(value))
        return fail_user(error, "%s: the field \"%s\" is an object, not a text; write \"%s.NAME\"", record->where, name,
                         name);
    if (json_is_string(value)) {
        add_record_text(record, name, texts, json_string_value(value));
        return true;
    }
    char *number = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    g_autofree char *real = json_is_real(value) ? text_number(json_real_value(value)) : NULL;
    add_record_text(record, name, texts, real ? real : number);
    free(number);
    return true;
}

bool record_texts(const Record *record, const char *name, GPtrArray *texts, bool *found, GError **error)
{
    const char *rest;
    const json_t *value = find_first(record, name, &rest);
    return add_texts(record, name, value, rest, texts, found, error);
}

char *record_twin_name(const char *name, guint number)
{
    return g_strdup_printf("%s (column %u)", name, number);
}

/* Whether several columns of a table have this name. */
static bool has_twins(const Record *record, const char *name)
{
    const char *key;
    json_t *any;
    guint number = 0;
    json_object_foreach((json_t *)(uintptr_t)record->levels[0], key, any)
    {
        g_autofree char *twin = record_twin_name(name, ++number);
        if (strcmp(key, twin) == 0)
            return true;
    }
    return false;
}

bool record_fail_missing(const Record *record, const char *name, GError **error)
{
    g_autoptr(GString) fields = g_string_new(record->columns);
    const json_t *value = record_value(record, name);
    if (value)
        return fail_user(error, "%s: the field \"%s\" %s", record->where, name,
                         json_is_null(value) ? "is null" : "holds no text");
    if (record->columns && has_twins(record, name)) {
        const char *line = strrchr(record->where, ':');
        return fail_user(error, "%.*s: two columns are called \"%s\"", (int)(line - record->where), record->where,
                         name);
    }
    if (record->columns == NULL) {
        const char *key;
        json_t *any;
        for (int level = record->n_levels - 1; level >= 0; level--)
            json_object_foreach((json_t *)(uintptr_t)record->levels[level], key, any) if (fields->len < 200)
                g_string_append_printf(fields, "%s%s", fields->len ? ", " : "", key);
    }
    return fail_user(error, "%s: no %s \"%s\"; there are %s", record->where, record->columns ? "column" : "field", name,
                     fields->len ? fields->str : "none");
}

bool record_fail_missing_of(const Record *record, const GPtrArray *fields, GError **error)
{
    const char *name = fields->len ? fields->pdata[0] : "label";
    for (guint i = fields->len; i-- > 0;) {
        const json_t *value = record_value(record, fields->pdata[i]);
        if (value == NULL || json_is_null(value))
            name = fields->pdata[i];
    }
    return record_fail_missing(record, name, error);
}
