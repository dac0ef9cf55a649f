#include "data/task/lookup.h"

#include "base/text.h"
#include "data/records/records.h"

#define KEY "idx"

struct Lookup {
    char *path;
    GStrv fields;
    GHashTable *objects; /* text of the key -> json_t */
};

/* The text of a field that has exactly one; else NULL. g_free. */
static char *key_text(const Record *record, const char *field)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    if (!record_texts(record, field, texts, NULL) || texts->len != 1)
        return NULL;
    return g_strdup(texts->pdata[0]);
}

static bool read_objects(Lookup *lookup, GError **error)
{
    const RecordSource source = { .path = lookup->path, .format = RECORD_JSONL, .rows = "", .columns = "" };
    RecordReader *reader = record_reader_open(&source, error);
    GError *problem = NULL;
    Record record;
    while (reader && !problem && record_reader_next(reader, &record, &problem)) {
        char *key = key_text(&record, KEY);
        if (!key)
            record_fail_missing(&record, KEY, &problem);
        else if (!g_hash_table_insert(lookup->objects, key, json_deep_copy(record.levels[0])))
            fail_user(&problem, "%s: a second " KEY " %s", record.where, key);
    }
    record_reader_close(reader);
    if (problem)
        g_propagate_error(error, problem);
    return reader && !problem;
}

Lookup *lookup_open(const char *path, const char *name, const char *fields, GError **error)
{
    Lookup *lookup = g_new0(Lookup, 1);
    g_autofree char *folder = g_path_get_dirname(path);
    lookup->path = g_build_filename(folder, name, NULL);
    lookup->fields = text_list(fields);
    lookup->objects = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)json_decref);
    if (!read_objects(lookup, error))
        g_clear_pointer(&lookup, lookup_close);
    return lookup;
}

void lookup_close(Lookup *lookup)
{
    if (!lookup)
        return;
    g_hash_table_unref(lookup->objects);
    g_strfreev(lookup->fields);
    g_free(lookup->path);
    g_free(lookup);
}

bool lookup_fill(const Lookup *lookup, const Record *record, GError **error)
{
    for (char **field = lookup->fields; *field; field++) {
        g_autofree char *key = key_text(record, *field);
        if (!key)
            return record_fail_missing(record, *field, error);
        json_t *object = g_hash_table_lookup(lookup->objects, key);
        if (!object)
            return fail_user(error, "%s: %s: %s has no object whose " KEY " is %s", record->where, *field, lookup->path,
                             key);
        json_object_set((json_t *)(uintptr_t)record->levels[0], *field, object);
    }
    return true;
}
