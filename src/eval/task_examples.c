#include "eval/task_examples.h"

struct TaskExamples {
    TaskReader *reader;
    GHashTable *answers; /* id -> GPtrArray of char *: right answers that no example has taken; NULL means no merging */
};

/* Gives the first example of an id the right answers of all records of this id; returns false for later examples. */
static bool take_answers(TaskExamples *examples, TaskExample *example)
{
    GPtrArray *all;
    gpointer key;
    if (!examples->answers || !example->id)
        return true;
    if (!g_hash_table_steal_extended(examples->answers, example->id, &key, (gpointer *)&all))
        return false;
    g_ptr_array_unref(example->targets);
    example->targets = all;
    g_free(key);
    return true;
}

/* Reads the whole file and collects the right answers of each id. */
static bool collect_answers(TaskExamples *examples, const Task *task, const TaskConfig *config, const TaskFile *file,
                            GError **error)
{
    TaskFile quiet = *file;
    quiet.quiet = true;
    g_autoptr(TaskReader) reader = task_reader_open(task, config, &quiet, false, error);
    if (!reader)
        return false;
    TaskExample example;
    Record record;
    GError *problem = NULL;
    examples->answers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_ptr_array_unref);
    while (task_reader_next(reader, &example, &record, &problem)) {
        GPtrArray *all = example.id ? g_hash_table_lookup(examples->answers, example.id) : NULL;
        for (guint i = 0; all && i < example.targets->len; i++)
            g_ptr_array_add(all, g_strdup(example.targets->pdata[i]));
        if (example.id && !all)
            g_hash_table_insert(examples->answers, g_strdup(example.id), g_ptr_array_ref(example.targets));
        task_example_clear(&example);
    }
    return problem == NULL || fail_with(error, problem);
}

TaskExamples *task_examples_open(const Task *task, const TaskConfig *config, const TaskFile *file, GError **error)
{
    g_autoptr(TaskExamples) examples = g_new0(TaskExamples, 1);
    const bool good = (!task->merge_ids || collect_answers(examples, task, config, file, error)) &&
                      (examples->reader = task_reader_open(task, config, file, false, error));
    return good ? g_steal_pointer(&examples) : NULL;
}

void task_examples_close(TaskExamples *examples)
{
    if (!examples)
        return;
    task_reader_close(examples->reader);
    g_clear_pointer(&examples->answers, g_hash_table_unref);
    g_free(examples);
}

bool task_examples_next(TaskExamples *examples, TaskExample *example, Record *record, GError **error)
{
    while (task_reader_next(examples->reader, example, record, error)) {
        if (take_answers(examples, example))
            return true;
        task_example_clear(example);
    }
    return false;
}

int64_t task_examples_skipped(const TaskExamples *examples)
{
    return task_reader_skipped(examples->reader);
}
