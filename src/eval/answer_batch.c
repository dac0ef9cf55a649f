#include "eval/answer_batch.h"

#include "eval/generate.h"
#include "eval/rank.h"

#include <string.h>

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

static bool add_inputs(AnswerBatch *batch, TaskEncoder *encoder, const TaskExample *example, GError **error)
{
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

/* The input of an encoder ends with EOS. The prompt of a decoder-only model has no EOS, and is shortened so that the
 * longest answer fits after it. */
bool answer_batch_add(AnswerBatch *batch, TaskEncoder *encoder, const Record *record, const TaskExample *example,
                      GError **error)
{
    const int32_t eos = tokenizer_eos(encoder->tok);
    if (encoder->task->learns)
        return add_inputs(batch, encoder, example, error);
    const guint before = batch->ids->len;
    if (!task_encode_input(encoder, record, example, encoder->target_length, batch->ids, error)) {
        g_array_set_size(batch->ids, before);
        return false;
    }
    if (!encoder->joined && eos >= 0)
        g_array_append_val(batch->ids, eos);
    const int32_t end = (int32_t)batch->ids->len;
    g_array_append_val(batch->cu, end);
    return true;
}

#define LENGTH_PENALTY 0.6

/* Takes text and log-probability of a generated answer. White space at the start of a decoder-only model's answer only
 * separates it from the prompt, and is removed. */
static bool take_text(Model *model, const Tokenizer *tok, const Generation *generation, Answer *out, GError **error)
{
    if (!isfinite(generation->logprob))
        return fail_not_finite(model, "its answer a log-probability", generation->logprob, error);
    out->logprob = generation->logprob;
    out->text = tokenizer_decode_answer(tok, generation->ids, error);
    if (out->text && model_config(model)->n_enc == 0)
        g_strchug(out->text);
    return out->text != NULL;
}

/* prompts: the encoder's inputs, EOS included, or the tokens that a decoder-only model continues. out (prompts->n):
 * free each with answer_clear. */
static bool answers(Model *model, const Tokenizer *tok, const Prompts *prompts, const AnswerOptions *options,
                    Answer *out, GError **error)
{
    const TokenRoles *roles = model_roles(model);
    const GenerateOptions generation = {
        .sampling = { .repetition_penalty = 1, .top_p = 1 },
        .beams = options->beams,
        .length_penalty = LENGTH_PENALTY,
        .n = 1,
        .max_tokens = options->max_tokens,
        .eos = roles->eos,
        .decoder_start = roles->generation_start >= 0 ? roles->generation_start : roles->decoder_start,
    };
    g_autofree Generation *found = g_new0(Generation, (gsize)prompts->n);
    bool good = generate(model, prompts, 0, &generation, found, error);
    memset(out, 0, (gsize)prompts->n * sizeof *out);
    for (int32_t i = 0; i < prompts->n; i++) {
        good = good && take_text(model, tok, &found[i], &out[i], error);
        generation_clear(&found[i]);
    }
    for (int32_t i = 0; !good && i < prompts->n; i++)
        answer_clear(&out[i]);
    return good;
}

static bool run_prompts(const AnswerBatch *batch, int32_t first, int32_t n, Model *model, const TaskEncoder *encoder,
                        const AnswerOptions *options, Answer *out, GError **error)
{
    const Prompts prompts = { .ids = (const int32_t *)(const void *)batch->ids->data,
                              .cu = (const int32_t *)(const void *)batch->cu->data + first,
                              .n = n };
    return options->ranking ? rank_labels(model, &prompts, options->ranking, out, error)
                            : answers(model, encoder->tok, &prompts, options, out, error);
}

bool answer_batch_run(AnswerBatch *batch, int32_t first, int32_t n, Model *model, const TaskEncoder *encoder,
                      const AnswerOptions *options, Answer *out, GError **error)
{
    if (encoder->task->learns && batch->classify == NULL &&
        !(batch->classify = classify_open(model, encoder->task, encoder->input_length, error)))
        return false;
    if (batch->classify)
        return classify_run(batch->classify, &g_array_index(batch->examples, TaskExample, first),
                            &g_array_index(batch->inputs, TaskInputs, first), n, out, error);
    return run_prompts(batch, first, n, model, encoder, options, out, error);
}
