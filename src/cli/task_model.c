#include "cli/task_model.h"

#include <inttypes.h>
#include <string.h>

bool task_name_classes(const LoadedModel *loaded, char **overrides, int n_overrides, GError **error)
{
    static const char option[] = "model.labels=";
    for (int i = 0; i < n_overrides; i++)
        if (g_str_has_prefix(overrides[i], option) &&
            !model_name_classes(loaded->model, overrides[i] + sizeof option - 1, error))
            return false;
    return true;
}

bool task_of_model(Task *task, const Config *config, const LoadedModel *loaded, const char *model_path, GError **error)
{
    if (!task_is_set(&config->task))
        return fail_user(error,
                         "%s was not trained on a task; name one: task.name=NAME (loam task list), or task.input and "
                         "task.target with task.data",
                         model_path);
    const ModelConfig *model = model_config(loaded->model);
    if (model->n_dec == 0 && model->classifier == LABELS_NONE)
        return fail_user(error, "%s has no decoder that writes text, and no classifier: fine-tune it on a task first",
                         model_path);
    if (!task_configure(task, &config->task, error))
        return false;
    return (int)task->learns == model->classifier ||
           fail_user(error, "%s classifies by %s, and the task is of another kind", model_path,
                     label_kind_names[model->classifier]);
}

TaskEncoder task_encoder(const Task *task, const Config *config, const LoadedModel *loaded)
{
    TaskEncoder encoder = config_task_encoder(config, model_config(loaded->model), task, loaded->tok);
    if (encoder.joined)
        encoder.target_length = config_answer_length(config);
    return encoder;
}

char *task_settings(const Config *config, const TaskEncoder *encoder, int64_t beams)
{
    const OptionGroup group = { task_options, n_task_options, 0, NULL };
    const OptionTable table = { .groups = &group, .n_groups = 1, .config_size = sizeof config->task };
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%" PRId64 " %" PRId64 " %" PRId64, encoder->input_length, encoder->target_length,
                           beams);
    for (int i = 0; i < n_task_options; i++) {
        const char *name = task_options[i].name;
        g_autofree char *value = options_plain_value(&table, &config->task, &task_options[i]);
        if (strcmp(name, "task.data") != 0 && strcmp(name, "task.valid") != 0 && strcmp(name, "task.scores") != 0)
            g_string_append_printf(text, " %s=%s", name, value);
    }
    return g_string_free(text, false);
}

bool ranking_check_options(const char *by, bool no_eos, int64_t beams, GError **error)
{
    if (by && rank_find(by) < 0)
        return fail_user(error, "--rank %s: sum, bytes or tokens", by);
    if (by && beams > 1)
        return fail_user(error, "--beams searches for a text, --rank chooses a label: give one of them");
    return by || !no_eos || fail_user(error, "--no-eos is for --rank");
}

json_t *ranking_logprobs(const Ranking *ranking, const Answer *answer)
{
    json_t *object = answer->label_logprobs ? json_object() : NULL;
    for (guint i = 0; object && ranking_labels(ranking)[i]; i++)
        json_object_set_new(object, ranking_labels(ranking)[i], json_real(answer->label_logprobs[i]));
    return object;
}
