/* task_make.c: a record becomes an example. */
#include "data/task/classified.h"
#include "data/task/special.h"

#include <string.h>

static bool make_plain(const Task *task, const Record *record, TaskExample *out, GError **error)
{
    bool missing;
    return example_take_input(task, record, out, error) &&
           (task->learns ? classified_take(task, record, out, error)
                         : example_take_targets(task, record, out, error)) &&
           (!task->id || example_fill(task, record, task->id, &out->id, &missing, error)) &&
           (!task->group || example_fill(task, record, task->group, &out->group, &missing, error));
}

void task_example_clear(TaskExample *example)
{
    g_clear_pointer(&example->targets, g_ptr_array_unref);
    g_clear_pointer(&example->input, g_free);
    g_clear_pointer(&example->group, g_free);
    g_clear_pointer(&example->id, g_free);
    g_clear_pointer(&example->answer, g_free);
    g_clear_pointer(&example->second, g_free);
    g_clear_pointer(&example->choices, g_ptr_array_unref);
    g_clear_pointer(&example->words, g_ptr_array_unref);
    g_clear_pointer(&example->starts, g_array_unref);
}

/* Sets the error that the record lacks the field with the right answer; returns false. */
static bool fail_unknown_answer(const Task *task, const Record *record, GError **error)
{
    g_autoptr(GPtrArray) fields = g_ptr_array_new_with_free_func(g_free);
    const char *field = task->learns == LABELS_TOKENS ? task->tags
                        : task->learns == LABELS_SPAN ? task->answers
                                                      : task->references;
    if (task->target && example_is_blank(record, task->target))
        return fail_user(error, "%s: the target is empty", record->where);
    if (task->target)
        task_template_fields(task->target, fields, NULL);
    if (field)
        g_ptr_array_add(fields, g_strdup(field));
    return record_fail_missing_of(record, fields, error);
}

bool task_make(const Task *task, const Record *record, bool needs_target, TaskExample *out, GError **error)
{
    *out = (TaskExample){ .targets = g_ptr_array_new_with_free_func(g_free) };
    bool good = task->make ? task->make(task, record, out, error) : make_plain(task, record, out, error);
    if (good && !record->short_name && out->input[strspn(out->input, " \t\r\n")] == '\0')
        good = fail_user(error, "%s: the input is empty", record->where);
    if (good && needs_target && !out->known)
        good = fail_unknown_answer(task, record, error);
    if (!good)
        task_example_clear(out);
    return good;
}
