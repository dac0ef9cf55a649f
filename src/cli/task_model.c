#include "cli/task_model.h"

bool task_of_model(Task *task, const Config *config, const LoadedModel *loaded, const char *model_path, GError **error)
{
    if (!task_is_set(&config->task))
        return fail_user(error,
                         "%s was trained on no task; name one: task.name=NAME (loam task list), or task.input and "
                         "task.target with task.data",
                         model_path);
    if (model_config(loaded->model)->n_dec == 0)
        return fail_user(error, "%s has no decoder: it writes no text", model_path);
    return task_configure(task, &config->task, error);
}

TaskEncoder task_encoder(const Task *task, const Config *config, const LoadedModel *loaded)
{
    return (TaskEncoder){ .task = task,
                          .config = &config->task,
                          .tok = loaded->tok,
                          .input_length = config->data.input_length,
                          .target_length = config->data.target_length,
                          .joined = model_config(loaded->model)->n_enc == 0 };
}

/* ---- batches ---- */

AnswerBatch answer_batch_new(void)
{
    AnswerBatch batch = { g_array_new(false, false, sizeof(int32_t)), g_array_new(false, false, sizeof(int32_t)) };
    answer_batch_clear(&batch);
    return batch;
}

void answer_batch_free(AnswerBatch *batch)
{
    g_array_unref(batch->ids);
    g_array_unref(batch->cu);
}

void answer_batch_clear(AnswerBatch *batch)
{
    const int32_t zero = 0;
    g_array_set_size(batch->ids, 0);
    g_array_set_size(batch->cu, 0);
    g_array_append_val(batch->cu, zero);
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
    if (!task_encode_input(encoder, record, example, encoder->target_length, batch->ids, error))
        return false;
    if (!encoder->joined && eos >= 0)
        g_array_append_val(batch->ids, eos);
    const int32_t end = (int32_t)batch->ids->len;
    g_array_append_val(batch->cu, end);
    return true;
}

bool answer_batch_run(AnswerBatch *batch, const LoadedModel *loaded, const AnswerOptions *options, Answer *out,
                      GError **error)
{
    const Prompts prompts = { .ids = (const int32_t *)(const void *)batch->ids->data,
                              .cu = (const int32_t *)(const void *)batch->cu->data,
                              .n = answer_batch_count(batch) };
    return answers(loaded->model, loaded->tok, &prompts, options, out, error);
}
