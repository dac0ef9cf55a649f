#include "eval/scorer.h"

#include <string.h>

#define MOST_TOKENS (1 << 20)

struct Scorer {
    Model *model;
    Batch *batch; /* batch for one pair of input and target; NULL before the first pair */
    int32_t enc_len, dec_len;
};

Scorer *scorer_open(Model *model)
{
    Scorer *scorer = g_new0(Scorer, 1);
    scorer->model = model;
    return scorer;
}

void scorer_close(Scorer *scorer)
{
    g_clear_pointer(&scorer->batch, batch_free);
    g_free(scorer);
}

/* Rounds a length n up to a power of two, so that buffers are seldom reallocated, but not above the longest sequence
 * that the model accepts, unless n is above it too. */
static int32_t room_for(const Scorer *scorer, int64_t n, int32_t before)
{
    const ModelConfig *config = model_config(scorer->model);
    int64_t room = MAX(before, 64);
    while (room < n)
        room *= 2;
    return (int32_t)(model_config_bounds_length(config) ? MAX(n, MIN(room, config->max_positions)) : room);
}

/* Makes sure that the buffers hold a pair; a decoder-only model reads inputs and targets as one sequence. */
static bool make_room(Scorer *scorer, int64_t n_inputs, int64_t n_targets, GError **error)
{
    bool encodes = model_config(scorer->model)->n_enc > 0;
    int32_t enc_len = encodes ? room_for(scorer, n_inputs, scorer->enc_len) : 0;
    int32_t dec_len = room_for(scorer, encodes ? n_targets : n_inputs + n_targets - 1, scorer->dec_len);
    if (scorer->batch && enc_len == scorer->enc_len && dec_len == scorer->dec_len)
        return true;
    const ModelLoss plain = { 0 };
    if (!model_reserve(scorer->model, 1, enc_len, dec_len, &plain, NULL, error))
        return false;
    g_clear_pointer(&scorer->batch, batch_free);
    scorer->batch = batch_new(1, enc_len, dec_len);
    scorer->enc_len = enc_len;
    scorer->dec_len = dec_len;
    return true;
}

/* Inputs and targets as one sequence; the last input predicts the first target. */
static void add_continuation(Batch *batch, bool prefixed, const int32_t *inputs, int64_t n_inputs,
                             const int32_t *targets, int64_t n_targets)
{
    int64_t n = n_inputs + n_targets - 1;
    g_autofree int32_t *ids = g_new(int32_t, (gsize)n + 1);
    g_autofree float *weights = g_new0(float, (gsize)n);
    memcpy(ids, inputs, (size_t)n_inputs * sizeof *ids);
    memcpy(ids + n_inputs, targets, (size_t)n_targets * sizeof *ids);
    for (int64_t i = n_inputs - 1; i < n; i++)
        weights[i] = 1;
    const BatchSequence sequence = { .n = n,
                                     .ids = ids,
                                     .targets = ids + 1,
                                     .weights = weights,
                                     .prefix_length = prefixed ? (int32_t)n_inputs : 0,
                                     .label = -1 };
    batch_add_sequence(batch, &sequence);
}

static bool check_scored(const char *what, const int32_t *ids, int64_t n, int64_t vocab, GError **error)
{
    if (n < 1 || n > MOST_TOKENS)
        return fail_user(error, "%" G_GINT64_FORMAT " tokens of %s: it must be from 1 to %d", n, what, MOST_TOKENS);
    for (int64_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= vocab)
            return fail_user(error,
                             "%s token %" G_GINT64_FORMAT " has id %d; the model's ids are 0 to %" G_GINT64_FORMAT,
                             what, i, ids[i], vocab - 1);
    return true;
}

bool scorer_score(Scorer *scorer, const int32_t *inputs, int64_t n_inputs, const int32_t *targets, int64_t n_targets,
                  Score *out, GError **error)
{
    const int64_t vocab = model_config(scorer->model)->vocab, n_ids = model_roles(scorer->model)->n_ids,
                  known = n_ids > 0 ? MIN(n_ids, vocab) : vocab;
    if (model_config(scorer->model)->n_dec == 0)
        return fail_user(error, "a bert cannot compute the probability of a target: it only predicts masked tokens");
    if (!check_scored("input", inputs, n_inputs, vocab, error) ||
        !check_scored("target", targets, n_targets, known, error) ||
        !model_config_fits(model_config(scorer->model), n_inputs + n_targets - 1, error) ||
        !make_room(scorer, n_inputs, n_targets, error))
        return false;
    Batch *batch = scorer->batch;
    const ModelLoss plain = { .of_ids = true };
    LossSums sums = { 0 };
    batch_clear(batch);
    if (scorer->enc_len > 0)
        batch_add(batch, 0, inputs, n_inputs, targets, n_targets, MAX(model_roles(scorer->model)->decoder_start, 0));
    else
        add_continuation(batch, model_config(scorer->model)->prefix_lm, inputs, n_inputs, targets, n_targets);
    model_loss(scorer->model, batch, &plain, &sums);
    const HeadSums *found = &sums.head[HEAD_TOKENS];
    *out = (Score){ .logprob = -found->nll, .tokens = n_targets, .greedy = found->correct == found->weight };
    return true;
}
