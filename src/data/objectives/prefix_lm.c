#include "data/objectives/prefix_lm.h"

#include "base/check.h"

#include <inttypes.h>
#include <string.h>

bool prefix_lm_plan(ObjectiveConfig *config, GError **error)
{
    if (config->target_length == 0)
        config->target_length = config->input_length;
    if (config->input_length < 3 || config->target_length < 2)
        return fail_user(error,
                         "data.objective=prefix_lm needs data.input_length of 3 or more and data.target_length "
                         "of 2 or more, not %" PRId64 " and %" PRId64,
                         config->input_length, config->target_length);
    if (config->raw_length == 0)
        config->raw_length = MAX(config->input_length - 2 - config->memory_rows, 2);
    config->raw_length = MIN(config->raw_length, config->input_length - 1);
    return config->raw_length >= 2 ||
           fail_user(error, "data.raw_length=%" PRId64 ": data.objective=prefix_lm cuts texts of 2 tokens or more",
                     config->raw_length);
}

/* A token at least on either side. What a sample of a pair has before its cut, the other has behind it: two texts of
 * full length fill both streams of a row. */
static int64_t draw_cut(const ObjectiveConfig *config, const Choice *choice, int64_t n)
{
    Philox rng = choice->pair;
    CHECK(n >= 2 && n <= config->raw_length, "%" PRId64 " tokens, at most %" PRId64, n, config->raw_length);
    int64_t cut = 1 + (int64_t)philox_below(&rng, (uint64_t)(n - 1));
    return choice->sample % 2 == 0 ? cut : n - cut;
}

/* Targets that are too long lose their end. */
void prefix_lm_choose(const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    choice->value = draw_cut(config, choice, n);
    choice->n_inputs = choice->value + 1;
    choice->n_targets = MIN(n - choice->value + 1, config->target_length);
}

void prefix_lm_example(const ObjectiveConfig *config, const Choice *choice, G_GNUC_UNUSED Philox *rng,
                       const int32_t *tokens, G_GNUC_UNUSED int64_t n, Example *out)
{
    int64_t cut = choice->value, kept = choice->n_targets - 1;
    memcpy(out->inputs, tokens, (size_t)cut * sizeof *tokens);
    memcpy(out->targets, tokens + cut, (size_t)kept * sizeof *tokens);
    out->inputs[cut] = out->targets[kept] = config->eos;
    out->n_inputs = choice->n_inputs;
    out->n_targets = choice->n_targets;
}

/* ---- a decoder alone ---- */

bool prefix_lm_alone_plan(ObjectiveConfig *config, GError **error)
{
    if (config->target_length != 0)
        return fail_user(error,
                         "data.target_length=%" PRId64 ": on a decoder alone prefix_lm has no targets apart from its "
                         "inputs; leave it out",
                         config->target_length);
    if (config->raw_length == 0 || config->raw_length > config->input_length)
        config->raw_length = config->input_length;
    return config->raw_length >= 2 ||
           fail_user(error, "data.raw_length=%" PRId64 " leaves no token to predict; use 2 or more",
                     config->raw_length);
}

void prefix_lm_alone_choose(const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    choice->value = draw_cut(config, choice, n);
    choice->n_targets = n;
}

void prefix_lm_alone_example(const ObjectiveConfig *config, const Choice *choice, G_GNUC_UNUSED Philox *rng,
                             const int32_t *tokens, int64_t n, Example *out)
{
    out->n_inputs = out->n_targets = n;
    out->prefix_length = (int32_t)choice->value;
    for (int64_t i = 0; i < n; i++) {
        out->inputs[i] = tokens[i];
        out->targets[i] = i + 1 < n ? tokens[i + 1] : config->eos;
        out->weights[i] = i + 1 < choice->value ? 0 : 1;
        out->position_ids[i] = (int32_t)i;
        out->token_types[i] = 0;
        out->starts_sequence[i] = i == 0;
    }
    out->label = -1;
}
