/* predictions.c: completions that another program made. */
#include "eval/programs/programs.h"

#include <string.h>

static const char *text_of(const Record *record, const char *name)
{
    return json_string_value(record_value(record, name));
}

/* The name of a task_id, which is a text or an integer. g_free; NULL means that it is neither. */
static char *problem_name(const Record *record)
{
    const json_t *id = record_value(record, "task_id");
    if (json_is_integer(id))
        return g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(id));
    return g_strdup(json_string_value(id));
}

static bool read_trial(const Record *record, GHashTable *problems, bool partly, GArray *trials, GError **error)
{
    g_autofree char *name = problem_name(record);
    const char *completion = text_of(record, "completion"), *solution = text_of(record, "solution");
    if (!name)
        return fail_user(error, "%s: no field \"task_id\", which names the problem", record->where);
    if (!completion && !solution)
        return fail_user(error, "%s: no text \"completion\" or \"solution\"", record->where);
    const Problem *problem = g_hash_table_lookup(problems, name);
    if (!problem && partly)
        return true;
    if (!problem)
        return fail_user(error, "%s: no problem is called %s", record->where, name);
    const char *text = solution ? solution : completion;
    const bool broken = record->replaced && strstr(text, "\uFFFD");
    const Trial trial = { .problem = problem,
                          .text = g_strdup(text),
                          .whole = solution != NULL,
                          .result = broken ? g_strdup("failed: a NUL or half a surrogate pair is in it") : NULL };
    g_array_append_val(trials, trial);
    return true;
}

bool predictions_read(const char *path, GHashTable *problems, bool partly, GArray *trials, GError **error)
{
    const RecordSource source = { .path = path, .format = RECORD_JSONL, .rows = "", .columns = "", .any_text = true };
    RecordReader *reader = record_reader_open(&source, error);
    GError *bad = NULL;
    Record record;
    while (reader && !bad && record_reader_next(reader, &record, &bad))
        read_trial(&record, problems, partly, trials, &bad);
    record_reader_close(reader);
    if (bad)
        g_propagate_error(error, bad);
    return reader && !bad;
}
