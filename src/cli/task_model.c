#include "cli/task_model.h"

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
                         "%s was trained on no task; name one: task.name=NAME (loam task list), or task.input and "
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
    return config_task_encoder(config, model_config(loaded->model), task, loaded->tok);
}

/* ---- batches ---- */

AnswerBatch answer_batch_new(void)
{
    AnswerBatch batch = { .ids = g_array_new(false, false, sizeof(int32_t)),
                          .cu = g_array_new(false, false, sizeof(int32_t)),
                          .examples = g_array_new(false, false, sizeof(TaskExample)),
                          .inputs = g_array_new(false, false, sizeof(TaskInputs)) };
    g_array_set_clear_func(batch.inputs, (GDestroyNotify)(void (*)(void))task_inputs_free);
    answer_batch_clear(&batch);
    return batch;
}

void answer_batch_free(AnswerBatch *batch)
{
    g_array_unref(batch->ids);
    g_array_unref(batch->cu);
    g_array_unref(batch->examples);
    g_array_unref(batch->inputs);
    classify_close(batch->classify);
}

void answer_batch_clear(AnswerBatch *batch)
{
    const int32_t zero = 0;
    g_array_set_size(batch->ids, 0);
    g_array_set_size(batch->cu, 0);
    g_array_append_val(batch->cu, zero);
    g_array_set_size(batch->examples, 0);
    g_array_set_size(batch->inputs, 0);
}

int32_t answer_batch_count(const AnswerBatch *batch)
{
    return (int32_t)batch->cu->len - 1;
}

/* An encoder's input ends with EOS; a decoder alone leaves room for the longest answer. */
bool answer_batch_add(AnswerBatch *batch, TaskEncoder *encoder, const Record *record, const TaskExample *example,
                      GError **error)
{
    const int32_t eos = tokenizer_eos(encoder->tok);
    if (encoder->task->learns) {
        TaskInputs inputs = task_inputs_new();
        const int32_t end = (int32_t)batch->inputs->len + 1;
        if (!task_encode_inputs(encoder, example, &inputs, error)) {
            task_inputs_free(&inputs);
            return false;
        }
        g_array_append_val(batch->inputs, inputs);
        g_array_append_vals(batch->examples, example, 1);
        g_array_append_val(batch->cu, end);
        return true;
    }
    if (!task_encode_input(encoder, record, example, encoder->target_length, batch->ids, error))
        return false;
    if (!encoder->joined && eos >= 0)
        g_array_append_val(batch->ids, eos);
    const int32_t end = (int32_t)batch->ids->len;
    g_array_append_val(batch->cu, end);
    return true;
}

bool answer_batch_run(AnswerBatch *batch, const LoadedModel *loaded, const TaskEncoder *encoder,
                      const AnswerOptions *options, Answer *out, GError **error)
{
    if (encoder->task->learns && batch->classify == NULL &&
        !(batch->classify = classify_open(loaded->model, encoder->task, encoder->input_length, error)))
        return false;
    if (batch->classify)
        return classify_run(batch->classify, (const TaskExample *)(void *)batch->examples->data,
                            (const TaskInputs *)(void *)batch->inputs->data, answer_batch_count(batch), out, error);
    const Prompts prompts = { .ids = (const int32_t *)(const void *)batch->ids->data,
                              .cu = (const int32_t *)(const void *)batch->cu->data,
                              .n = answer_batch_count(batch) };
    return answers(loaded->model, loaded->tok, &prompts, options, out, error);
}
