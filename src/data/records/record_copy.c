/* record_copy.c: records as lines of JSON. A table's row is an object; the levels of any other record are a list. */
#include "data/records/reader.h"

#include <string.h>

/* Takes a step's value (RecordSource.rows) out of an object; if it is no list, puts `below`, its copy, in its place. */
static void shorten(json_t *object, const char *step, json_t *below)
{
    g_autofree char *name = g_strndup(step, strcspn(step, "["));
    if (step[strlen(name)] == '[')
        json_object_del(object, name);
    else
        json_object_set(object, name, below);
}

char *record_copy(const Record *record, const char *rows)
{
    g_auto(GStrv) steps = g_strsplit(rows ? rows : "", ".", -1);
    char **step = steps + (steps[0] && strcmp(steps[0], "[]") == 0); /* the step from level 0 to level 1 */
    json_auto_t *levels = json_array();
    for (int i = record->n_levels - 1; i >= 0; i--) {
        json_t *copy = json_copy((json_t *)(uintptr_t)record->levels[i]);
        if (i < record->n_levels - 1)
            shorten(copy, step[i], json_array_get(levels, 0));
        json_array_insert_new(levels, 0, copy);
    }
    return json_dumps(record->columns ? json_array_get(levels, 0) : levels, JSON_COMPACT | JSON_REAL_PRECISION(17));
}

static char *column_names(const json_t *row)
{
    GString *names = g_string_new(NULL);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)row, key, value)
        g_string_append_printf(names, "%s%s", names->len > 0 ? ", " : "", key);
    return g_string_free(names, false);
}

/* Sets the levels of the record that reader->root holds; false if it holds none. */
static bool find_levels(RecordReader *reader, Path *path)
{
    const json_t *root = reader->root;
    const size_t n = json_array_size(root);
    g_free(reader->columns_text);
    reader->columns_text = json_is_object(root) ? column_names(root) : NULL;
    *path = (Path){ .levels = { root }, .n = json_is_object(root) ? 1 : (int)MIN(n, RECORD_LEVELS + 1) };
    for (size_t i = 0; i < n && n <= RECORD_LEVELS; i++)
        if (!json_is_object(path->levels[i] = json_array_get(root, i)))
            return false;
    return path->n > 0 && path->n <= RECORD_LEVELS;
}

static Found next_copy(RecordReader *reader, GError **error)
{
    Path path;
    const Found found = reader_next_row(reader, error);
    if (found != FOUND_RECORD)
        return found;
    json_decref(reader->root);
    reader->root = json_loads(reader->lines[0]->line->str, JSON_REJECT_DUPLICATES, NULL);
    reader->next = 0;
    g_array_set_size(reader->paths, 0);
    if (!find_levels(reader, &path)) {
        fail_user(error, "%s: no copy of a record, which loam wrote here", reader->where->str);
        return FOUND_ERROR;
    }
    g_array_append_val(reader->paths, path);
    return FOUND_RECORD;
}

const RecordKind copy_records = { .traits = { .values = true, .columns = true },
                                  RECORD_READ(RETURNS_DROPPED, reader_open_lines, next_copy) };
