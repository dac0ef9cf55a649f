/* task_measure.c: how long the texts of a task are, in tokens. */
#include "data/task/task.h"

static bool measure_example(TaskEncoder *encoder, const TaskExample *example, GArray *ids, GError **error)
{
    const guint n = encoder->task->each_answer ? example->targets->len : MIN(example->targets->len, 1);
    if (example->excluded)
        return true;
    g_array_set_size(ids, 0);
    bool good = task_encode_input(encoder, NULL, example, 0, ids, error);
    for (guint i = 0; good && i < n; i++)
        good = task_encode_target(encoder, example->targets->pdata[i], ids, error);
    return good;
}

static bool measure_file(TaskEncoder *encoder, const TaskFile *file, GError **error)
{
    TaskReader *reader = task_reader_open(encoder->task, encoder->config, file, false, error);
    if (!reader)
        return false;
    g_autoptr(GArray) ids = g_array_new(false, false, sizeof(int32_t));
    TaskExample example;
    Record record;
    GError *problem = NULL;
    while (!problem && task_reader_next(reader, &example, &record, &problem)) {
        measure_example(encoder, &example, ids, &problem);
        task_example_clear(&example);
    }
    task_reader_close(reader);
    if (problem)
        g_propagate_error(error, problem);
    return problem == NULL;
}

bool task_measure(const TaskEncoder *encoder, TaskLengths *longest, GError **error)
{
    TaskEncoder own = *encoder;
    TaskFile train, valid;
    own.input_length = own.target_length = INT32_MAX;
    if (!task_files(encoder->task, encoder->config, &train, &valid, error))
        return false;
    const bool good =
        (!train.path || measure_file(&own, &train, error)) && (!valid.path || measure_file(&own, &valid, error));
    *longest = (TaskLengths){ own.longest_input, MAX(own.longest_target, 1) };
    g_free(train.path);
    g_free(valid.path);
    return good;
}
