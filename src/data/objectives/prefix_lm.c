/* prefix_lm.c: prefix language modelling: a chunk of a document is divided at a random token. With an encoder (T5's
 * prefix LM), the inputs are the tokens before that token, and the targets are the remaining tokens. In a decoder-only
 * model inputs and targets form one sequence: the inputs (the prefix) attend to each other in both directions, and the
 * last token of the prefix predicts the first target. */
#include "base/check.h"
#include "data/objectives/objective.h"

#include <inttypes.h>

static bool plan_prefix(ObjectiveConfig *config, GError **error)
{
    if (config->target_length == 0)
        config->target_length = config->input_length;
    if (config->input_length < 3 || config->target_length < 2)
        return fail_user(error,
                         "data.objective=prefix_lm needs data.input_length of 3 or more and data.target_length "
                         "of 2 or more, not %" PRId64 " and %" PRId64,
                         config->input_length, config->target_length);
    if (config->raw_length == 0)
        config->raw_length = MAX(config->input_length - 2 - config->memory_tokens, 2);
    config->raw_length = MIN(config->raw_length, config->input_length - 1);
    return config->raw_length >= 2 ||
           fail_user(error, "data.raw_length=%" PRId64 ": data.objective=prefix_lm cuts texts of 2 tokens or more",
                     config->raw_length);
}

/* Draws where to cut n tokens, with a token at least on either side. Sample 2i is cut as many tokens from its start as
 * sample 2i + 1 is from its end, so two texts of full length fill both streams of a packed sequence. */
static int64_t draw_cut(const ObjectiveConfig *config, const Choice *choice, int64_t n)
{
    Philox rng = choice->pair_rng;
    CHECK(n >= 2 && n <= config->raw_length, "%" PRId64 " tokens, at most %" PRId64, n, config->raw_length);
    int64_t cut = 1 + (int64_t)philox_below(&rng, (uint64_t)(n - 1));
    return choice->sample % 2 == 0 ? cut : n - cut;
}

/* Targets that are too long lose their end. */
static void choose_prefix(const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    int64_t cut = draw_cut(config, choice, n);
    choice->n_inputs = cut + 1;
    choice->n_targets = MIN(n - cut + 1, config->target_length);
}

/* ---- decoder-only models ---- */

static bool plan_alone(ObjectiveConfig *config, GError **error)
{
    if (config->target_length != 0)
        return fail_user(error,
                         "data.target_length=%" PRId64
                         ": in a decoder-only model prefix_lm has no targets apart from its "
                         "inputs; leave it out",
                         config->target_length);
    if (config->raw_length == 0 || config->raw_length > config->input_length)
        config->raw_length = config->input_length;
    return config->raw_length >= 2 ||
           fail_user(error, "data.raw_length=%" PRId64 " leaves no token to predict; use 2 or more",
                     config->raw_length);
}

static void choose_alone(const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    choice->n_first = draw_cut(config, choice, n);
    choice->n_targets = n;
}

static void apply_alone(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const Text *texts,
                        Example *out)
{
    example_continue(config, choice, rng, texts, out);
    out->prefix_length = (int32_t)choice->n_first;
}

/* About half of the tokens of a text come before the cut and have no target. */
static const Objective prefix_lm_alone = { OBJECTIVE("prefix_lm", STREAMS_DECODER, TEXT_DOCUMENTS, 2),
                                           .ends_itself = true, .target_share = 0.5,
                                           OBJECTIVE_STEPS(plan_alone, choose_alone, apply_alone) };

const Objective prefix_lm_objective = { OBJECTIVE("prefix_lm", STREAMS_BOTH, TEXT_DOCUMENTS, 2), .ends_itself = true,
                                        OBJECTIVE_STEPS(plan_prefix, choose_prefix, example_divide),
                                        .decoder_alone = &prefix_lm_alone };
