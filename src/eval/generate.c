#include "eval/generate.h"

#include <math.h>

static int32_t argmax(const float *logits, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (logits[i] > logits[best])
            best = i;
    return (int32_t)best;
}

static double log_probability(const float *logits, int64_t n, int32_t id)
{
    double top = logits[argmax(logits, n)], sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += exp(logits[i] - top);
    return logits[id] - top - log(sum);
}

bool generate_greedy(Model *model, const int32_t *inputs, int64_t n_inputs, int64_t max_tokens, int32_t eos,
                     Generation *out, GError **error)
{
    *out = (Generation){ .ids = g_array_new(false, false, sizeof(int32_t)) };
    const int32_t cu[] = { 0, (int32_t)n_inputs };
    Decoder *decoder = decoder_open(model, &(Prompts){ inputs, cu, 1 }, 1, max_tokens, error);
    if (decoder == NULL)
        return false;
    int64_t vocab = model_config(model)->vocab;
    int32_t token = 0; /* T5's decoder start is its pad */
    for (int64_t i = 0; i < max_tokens && !out->finished; i++) {
        const float *logits = decoder_step(decoder, &token);
        token = argmax(logits, vocab);
        out->logprob += log_probability(logits, vocab, token);
        out->finished = token == eos;
        if (!out->finished)
            g_array_append_val(out->ids, token);
    }
    decoder_close(decoder);
    return true;
}

void generation_clear(Generation *generation)
{
    g_clear_pointer(&generation->ids, g_array_unref);
}

/* Number of the sentinel that `id` is, or -1. */
static int sentinel_index(const Tokenizer *tok, int32_t id)
{
    for (int i = 0; i < TOKENIZER_SENTINELS; i++)
        if (tokenizer_sentinel(tok, i) == id)
            return i;
    return -1;
}

/* Appends what the answer says after the given sentinel; false if the sentinel is not in it. */
static bool append_span(const Tokenizer *tok, const GArray *answer, int32_t sentinel, GArray *out)
{
    guint i = 0;
    while (i < answer->len && g_array_index(answer, int32_t, i) != sentinel)
        i++;
    if (i == answer->len)
        return false;
    for (i++; i < answer->len && sentinel_index(tok, g_array_index(answer, int32_t, i)) < 0; i++)
        g_array_append_val(out, g_array_index(answer, int32_t, i));
    return true;
}

char *generate_fill(const Tokenizer *tok, const int32_t *inputs, int64_t n_inputs, const GArray *answer, GError **error)
{
    g_autoptr(GArray) filled = g_array_new(false, false, sizeof(int32_t));
    for (int64_t i = 0; i < n_inputs; i++)
        if (sentinel_index(tok, inputs[i]) < 0 || !append_span(tok, answer, inputs[i], filled))
            g_array_append_val(filled, inputs[i]);
    return tokenizer_decode(tok, (const int32_t *)(void *)filled->data, filled->len, error);
}
