#include "cli/task_model.h"

bool task_of_model(Task *task, const Config *config, const LoadedModel *loaded, const char *model_path, GError **error)
{
    if (!task_is_set(&config->task))
        return fail_user(error,
                         "%s was trained on no task; name one: task.name=NAME (loam task list), or task.input and "
                         "task.target with task.data",
                         model_path);
    const ModelConfig *model = model_config(loaded->model);
    if (model->n_dec == 0 && model->classifier == LABELS_NONE)
        return fail_user(error, "%s has no decoder that writes text, and no classifier", model_path);
    if (!task_configure(task, &config->task, error))
        return false;
    return (int)task->learns == model->classifier ||
           fail_user(error, "%s classifies by %s, and the task is of another kind", model_path,
                     label_kind_names[model->classifier]);
}

TaskEncoder task_encoder(const Task *task, const Config *config, const LoadedModel *loaded)
{
    return config_task_encoder(config, model_config(loaded->model), task, loaded->tok);
}
