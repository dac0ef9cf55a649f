#include "data/task/record_copy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Takes the value of a step of RecordSource.rows out of an object, or replaces it by `below`, the copy of what it leads
 * to, if it is no list. */
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
    json_t *levels = json_array();
    for (int i = record->n_levels - 1; i >= 0; i--) {
        json_t *copy = json_copy((json_t *)(uintptr_t)record->levels[i]);
        if (i < record->n_levels - 1)
            shorten(copy, step[i], json_array_get(levels, 0));
        json_array_insert_new(levels, 0, copy);
    }
    char *line =
        json_dumps(record->columns ? json_array_get(levels, 0) : levels, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(levels);
    return line;
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

int record_copy_levels(const json_t *root, const json_t *levels[RECORD_LEVELS], char **columns)
{
    const size_t n = json_array_size(root);
    *columns = json_is_object(root) ? column_names(root) : NULL;
    levels[0] = root;
    if (json_is_object(root))
        return 1;
    for (size_t i = 0; i < n && n <= RECORD_LEVELS; i++)
        if (!json_is_object(levels[i] = json_array_get(root, i)))
            return 0;
    return n <= RECORD_LEVELS ? (int)n : 0;
}
