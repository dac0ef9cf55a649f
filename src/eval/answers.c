#include "eval/answers.h"

#include "eval/generate.h"
#include "eval/not_finite.h"

#include <math.h>
#include <string.h>

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

void answer_clear(Answer *answer)
{
    g_clear_pointer(&answer->text, g_free);
    g_clear_pointer(&answer->probabilities, g_free);
    g_clear_pointer(&answer->label_logprobs, g_free);
}

bool answers(Model *model, const Tokenizer *tok, const Prompts *prompts, const AnswerOptions *options, Answer *out,
             GError **error)
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
