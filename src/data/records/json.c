/* json.c: a file that is one JSON value, and records within such a value. */
#include "base/json_line.h"
#include "data/records/reader.h"

#define MOST_FILE_BYTES ((size_t)2 << 30) /* largest file that is read as a whole */

/* Appends the records below a value to reader->paths: `step` is the first one of RecordSource.rows to be taken. */
static bool collect(RecordReader *reader, const json_t *value, char **step, Path path, GError **error)
{
    const bool lines = reader->format == RECORD_JSONL; /* in JSON lines, a list is not a record */
    if (!json_is_object(value))
        return fail_user(error, "%s: %s is wanted where records are, not an array or a single value%s",
                         reader->where->str, "an object { }",
                         lines && json_is_array(value) ? "; one list of all records is read with task.format=json "
                                                         "task.rows=[]"
                                                       : "");
    path.levels[path.n++] = value;
    if (*step == NULL || **step == '\0') {
        g_array_append_val(reader->paths, path);
        return true;
    }
    bool list = g_str_has_suffix(*step, "[]");
    g_autofree char *name = g_strndup(*step, strlen(*step) - (list ? 2 : 0));
    const json_t *below = json_object_get(value, name);
    if (below == NULL || json_is_array(below) != list)
        return fail_user(error, "%s: no %s \"%s\" where task.rows says so", reader->where->str,
                         list ? "list" : "object", name);
    if (!list)
        return collect(reader, below, step + 1, path, error);
    for (size_t i = 0; i < json_array_size(below); i++)
        if (!collect(reader, json_array_get(below, i), step + 1, path, error))
            return false;
    return true;
}

/* Appends the records below a value that is itself a list. */
static bool collect_items(RecordReader *reader, const json_t *list, GError **error)
{
    if (!json_is_array(list))
        return fail_user(error, "%s: no list [ ] where task.rows says so", reader->where->str);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!collect(reader, json_array_get(list, i), reader->steps + 1, (Path){ 0 }, error))
            return false;
    return true;
}

Found reader_take_root(RecordReader *reader, json_t *root, GError **error)
{
    const bool list = g_strcmp0(reader->steps[0], "[]") == 0;
    json_decref(reader->root);
    reader->root = root;
    reader->next = 0;
    g_array_set_size(reader->paths, 0);
    if (list ? collect_items(reader, root, error) : collect(reader, root, reader->steps, (Path){ 0 }, error))
        return FOUND_RECORD;
    g_array_set_size(reader->paths, 0);
    return FOUND_ERROR;
}

static bool open_file(RecordReader *reader, GError **error)
{
    reader->source.most_bytes = MOST_FILE_BYTES;
    return reader_open_lines(reader, error);
}

static Found next_value(RecordReader *reader, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    json_error_t reason;
    bool too_long;
    reader->broken = true; /* there is one value */
    if (!lines_read_until(reader->lines[0], -1, text, &too_long, error))
        return FOUND_ERROR;
    json_t *root = too_long ? NULL : json_loadb(text->str, text->len, JSON_REJECT_DUPLICATES, &reason);
    if (root)
        return reader_take_root(reader, root, error);
    if (too_long)
        fail_user(error, "%s: a JSON file of more than 2 GiB; write JSON lines", reader->path);
    else if (!json_fail(&reason, error))
        fail_context(error, "%s:%d: column %d", reader->path, reason.line, reason.column);
    return FOUND_ERROR;
}

const RecordKind json_records = { .suffixes = { ".json" },
                                  .traits = { .values = true },
                                  RECORD_READ(RETURNS_KEPT, open_file, next_value),
                                  .numbered = true };
