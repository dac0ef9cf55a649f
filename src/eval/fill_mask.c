#include "eval/fill_mask.h"

#include "eval/answers.h"
#include "eval/sampler.h"

#define MOST_TOKENS (1 << 16)

static bool check_prompt_ids(const Model *model, const int32_t *ids, int64_t n, GError **error)
{
    int64_t vocab = model_config(model)->vocab;
    if (n < 1 || n > MOST_TOKENS)
        return fail_user(error, "%" G_GINT64_FORMAT " tokens: it must be from 1 to %d", n, MOST_TOKENS);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= vocab)
            return fail_user(error, "token %" G_GINT64_FORMAT " has id %d; the model's ids are 0 to %" G_GINT64_FORMAT,
                             i, ids[i], vocab - 1);
    return model_config_fits(model_config(model), n, error);
}

static MaskGuesses guesses_at(const float *logits, int64_t vocab, int64_t n_pieces, int64_t index)
{
    MaskGuesses guesses = { .index = index };
    double log_sum = sampler_log_sum(logits, vocab);
    for (int64_t id = 0; id < MIN(vocab, n_pieces); id++) {
        double p = exp((double)logits[id] - log_sum);
        if (guesses.n == MASK_GUESSES && p <= guesses.probability[MASK_GUESSES - 1])
            continue;
        int32_t at = guesses.n < MASK_GUESSES ? guesses.n++ : MASK_GUESSES - 1;
        for (; at > 0 && guesses.probability[at - 1] < p; at--) {
            guesses.ids[at] = guesses.ids[at - 1];
            guesses.probability[at] = guesses.probability[at - 1];
        }
        guesses.ids[at] = (int32_t)id;
        guesses.probability[at] = p;
    }
    return guesses;
}

bool fill_mask(Model *model, const int32_t *ids, int64_t n, int32_t mask, int64_t n_pieces, GArray *out, GError **error)
{
    const ModelLoss plain = { 0 };
    int64_t vocab = model_config(model)->vocab;
    if (!check_prompt_ids(model, ids, n, error) || !model_reserve(model, 1, (int32_t)n, 0, &plain, NULL, error))
        return false;
    g_autofree float *logits = g_try_new(float, (gsize)(n * vocab)), *weights = g_new0(float, (gsize)n);
    if (logits == NULL)
        return fail_machine(error, "no memory for the logits of %" G_GINT64_FORMAT " tokens", n);
    g_autoptr(Batch) batch = batch_new(1, (int32_t)n, 0);
    batch_add_sequence(batch, &(BatchSequence){ .n = n, .ids = ids, .targets = ids, .weights = weights, .label = -1 });
    model_logits(model, batch, logits);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] == mask) {
            if (!check_finite(model, "a logit", logits + i * vocab, MIN(vocab, n_pieces), error))
                return false;
            MaskGuesses guesses = guesses_at(logits + i * vocab, vocab, n_pieces, i);
            g_array_append_val(out, guesses);
        }
    return true;
}
