#include "cli/eval/completions.h"

#include "cli/cli.h"
#include "cli/task_model.h"
#include "eval/generate.h"
#include "eval/not_finite.h"

#include <math.h>
#include <string.h>

/* Reduces the output of a span-filling model, "<extra_id_0> SPAN <extra_id_1> …", to the first span, which is the
 * completion. */
static void keep_span(const Tokenizer *tok, GArray *ids)
{
    if (ids->len > 0 && tokenizer_sentinel_index(tok, g_array_index(ids, int32_t, 0)) >= 0)
        g_array_remove_index(ids, 0);
    for (guint i = 0; i < ids->len; i++)
        if (tokenizer_sentinel_index(tok, g_array_index(ids, int32_t, i)) >= 0)
            g_array_set_size(ids, i);
}

/* The text of `ids` as a continuation of the prompt (n ids). Both are decoded together, because a leading space of the
 * first piece would be lost otherwise. */
static char *decode_after(const Tokenizer *tok, const int32_t *prompt, int64_t n, const GArray *ids, GError **error)
{
    g_autoptr(GArray) all = g_array_new(false, false, sizeof(int32_t));
    g_array_append_vals(all, prompt, (guint)n);
    g_array_append_vals(all, ids->data, ids->len);
    g_autofree char *before = tokenizer_decode(tok, prompt, n, error);
    g_autofree char *text = before ? tokenizer_decode(tok, (const int32_t *)(void *)all->data, all->len, error) : NULL;
    if (text == NULL)
        return NULL;
    if (g_str_has_prefix(text, before))
        return g_strdup(text + strlen(before));
    return tokenizer_decode(tok, (const int32_t *)(const void *)ids->data, ids->len, error);
}

static void cut_completion(char *text, const char *const *stop)
{
    for (; stop && *stop; stop++) {
        char *at = **stop ? strstr(text, *stop) : NULL;
        if (at)
            *at = '\0';
    }
}

typedef struct Writing {
    const LoadedModel *loaded;
    const AnswerBatch *batch;
    const char *const *stop;
    bool alone; /* the model is decoder-only */
} Writing;

/* Adds a completion. If beam search found fewer sequences than requested, the missing completions are empty. */
static bool add_trial(const Writing *w, int32_t prompt, const Problem *problem, Generation *generation, GArray *trials,
                      GError **error)
{
    const Tokenizer *tok = w->loaded->tok;
    bool replaced = false;
    if (!generation->ids) {
        const Trial none = { .problem = problem, .text = g_strdup("") };
        g_array_append_val(trials, none);
        return true;
    }
    if (!isfinite(generation->logprob))
        return fail_not_finite(w->loaded->model, "its answer a log-probability", generation->logprob, error);
    const int32_t *cu = (const int32_t *)(const void *)w->batch->cu->data,
                  *ids = (const int32_t *)(const void *)w->batch->ids->data;
    if (!w->alone)
        keep_span(tok, generation->ids);
    g_autofree char *text =
        w->alone ? decode_after(tok, ids + cu[prompt], cu[prompt + 1] - cu[prompt], generation->ids, error)
                 : tokenizer_decode_answer(tok, generation->ids, error);
    if (text == NULL)
        return false;
    cut_completion(text, w->stop);
    const Trial trial = { .problem = problem, .text = valid_text(text, &replaced) };
    g_array_append_val(trials, trial);
    return true;
}

static GenerateOptions generate_options(const LoadedModel *loaded, const TaskEncoder *encoder,
                                        const ProgramEvalOptions *options)
{
    const TokenRoles *roles = model_roles(loaded->model);
    return (GenerateOptions){
        .sampling = { .temperature = options->temperature, .top_p = options->top_p, .repetition_penalty = 1 },
        .beams = (int32_t)options->beams,
        .length_penalty = options->length_penalty,
        .n = (int32_t)options->n,
        .max_tokens = encoder->target_length,
        .seed = (uint64_t)options->seed,
        .eos = roles->eos,
        .decoder_start = roles->generation_start >= 0 ? roles->generation_start : roles->decoder_start,
    };
}

bool completions_generate(const LoadedModel *loaded, TaskEncoder *encoder, ProgramItem *const *items, int64_t first,
                          int64_t n, const ProgramEvalOptions *options, GArray *trials, GError **error)
{
    const GenerateOptions how = generate_options(loaded, encoder, options);
    AnswerBatch batch = answer_batch_new();
    const Writing writing = {
        .loaded = loaded, .batch = &batch, .stop = options->stop, .alone = model_config(loaded->model)->n_enc == 0
    };
    g_autofree Generation *found = g_new0(Generation, (gsize)(n * options->n));
    bool good = true;
    for (int64_t i = 0; good && i < n; i++)
        good = answer_batch_add(&batch, encoder, NULL, &items[first + i]->example, error);
    const Prompts prompts = { .ids = (const int32_t *)(const void *)batch.ids->data,
                              .cu = (const int32_t *)(const void *)batch.cu->data,
                              .n = answer_batch_count(&batch) };
    good = good && generate(loaded->model, &prompts, first, &how, found, error);
    for (int64_t i = 0; i < n * options->n; i++) {
        if (good)
            good = add_trial(&writing, (int32_t)(i / options->n), &items[first + i / options->n]->problem, &found[i],
                             trials, error);
        generation_clear(&found[i]);
    }
    answer_batch_free(&batch);
    return good;
}
