/* task_data.c: makes the dataset of a run that trains on a task, once, in RUN/task. Resumed processes use that copy,
 * not the task's files; so do evaluations, which read the held-out examples beside it. */
#include "base/file.h"
#include "train/trainer.h"

static bool remove_dataset(const char *prefix, GError **error)
{
    static const char *const endings[] = { ".json", ".idx", ".bin", ".jsonl" };
    for (size_t i = 0; i < G_N_ELEMENTS(endings); i++) {
        g_autofree char *path = g_strconcat(prefix, endings[i], NULL);
        if (!io_remove_file(path, error))
            return false;
    }
    return true;
}

/* Makes the datasets of the task. Removes those of a start that never trained: held-out examples may differ. */
static bool prepare_task_data(Trainer *t, const char *prefix, GError **error)
{
    const Config *config = &t->config;
    Task task;
    if (!task_configure(&task, &config->task, error) ||
        (t->hold->lock < 0 && !run_lock(config->run.dir, &t->hold->lock, error)) ||
        !remove_dataset(t->task.train, error) || !remove_dataset(t->task.valid, error))
        return false;
    TaskEncoder encoder = config_task_encoder(config, &config->model, &task, t->tok);
    encoder.of_run = true;
    return task_prepare(&encoder, prefix, error);
}

static bool has_dataset(const char *prefix)
{
    g_autofree char *path = g_strconcat(prefix, ".json", NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* begun: the run has lost its copy of the examples. */
static bool make_dataset(Trainer *t, bool begun, GError **error)
{
    if (begun)
        log_warning("%s is gone: it is made again from task.data", t->task.train);
    t->task.unchecked = begun;
    if (prepare_task_data(t, t->task.train, error))
        return true;
    return begun &&
           fail_context(error, "%s, the examples that the run read at its start, is gone and cannot be made again",
                        t->task.train);
}

void trainer_drop_unchecked(const Trainer *t)
{
    if (t->task.unchecked && t->hold->lock >= 0 && remove_dataset(t->task.train, NULL)) /* else of another process */
        remove_dataset(t->task.valid, NULL);
}

void trainer_note_table(const Trainer *t)
{
    Task task;
    g_auto(TaskFile) train = { 0 }, valid = { 0 };
    TaskConfig named = t->config.task; /* shallow copy, with its own files instead of the run's copy of them */
    named.held_out = NULL;
    if (comm_rank(t->mesh.world) > 0 || !task_is_set(&named) || !task_configure(&task, &named, NULL) ||
        !task_files(&task, &named, &train, &valid, NULL))
        return;
    const bool other =
        (train.path && trainer_has_changed(t, "task.data")) || task_source_changed(train.path, t->task.train);
    if (other || task_source_changed(valid.path, t->task.valid))
        log_warning("the run goes on with the examples that it read at its start (%s), not with %s as it is now%s; "
                    "choose another run.dir to use the new ones",
                    t->task.train, other ? train.path : valid.path,
                    valid.path && !t->config.task.held_out
                        ? ", from which only its scores come (it was started by an earlier version)"
                        : "");
}

bool trainer_prepare_task(Trainer *t, GError **error)
{
    DataConfig *data = &t->config.data;
    if (!task_is_set(&t->config.task))
        return true;
    t->task.train = g_build_filename(t->config.run.dir, "task", "train", NULL);
    t->task.valid = g_strconcat(t->task.train, "-valid", NULL);
    /* The dataset of a begun run stays, also if the run has lost its config.yaml. */
    g_autoptr(GArray) steps = run_checkpoints(t->config.run.dir);
    const bool begun = run_has_config(t->config.run.dir) || steps->len > 0;
    if (comm_rank(t->mesh.world) == 0 && !(begun && has_dataset(t->task.train)) && !make_dataset(t, begun, error))
        return false;
    const bool holds_out = has_dataset(t->task.valid);
    if (!begun)
        config_advise_data(&t->config, holds_out);
    data->train = t->task.train;
    if (holds_out)
        data->valid = t->task.valid;
    task_use_copy(&t->config.task, t->task.valid);
    return true;
}
