/* seq2seq.c: supervised text-to-text training. A document of the dataset is a pair of sequences, input and target
 * (data/task). With an encoder, the encoder reads the input and the decoder predicts the target. In a decoder-only
 * model input and target form one sequence, and only the tokens of the target and EOS have a loss. */
#include "data/objectives/objective.h"

#include <inttypes.h>

#define DEFAULT_TARGET_LENGTH 128

/* raw_length: what holds any pair. */
static bool plan_pairs(ObjectiveConfig *config, int64_t raw_length, GError **error)
{
    if (config->raw_length != 0)
        return fail_user(error, "data.raw_length=%" PRId64 ": data.objective=seq2seq takes whole pairs; leave it out",
                         config->raw_length);
    config->raw_length = raw_length;
    return true;
}

static bool plan_seq2seq(ObjectiveConfig *config, GError **error)
{
    if (config->target_length == 0)
        config->target_length = DEFAULT_TARGET_LENGTH;
    /* more than a pair without its two EOS */
    return plan_pairs(config, config->input_length + config->target_length, error);
}

static void choose_seq2seq(G_GNUC_UNUSED const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    choice->n_inputs = choice->n_first + 1;
    choice->n_targets = n - choice->n_first + 1;
}

/* ---- decoder-only models ---- */

static bool plan_alone(ObjectiveConfig *config, GError **error)
{
    return plan_pairs(config, config->input_length + 1, error);
}

static void choose_alone(G_GNUC_UNUSED const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    choice->n_targets = n;
}

static void apply_alone(const ObjectiveConfig *config, const Choice *choice, Philox *rng, const Text *texts,
                        Example *out)
{
    example_continue(config, choice, rng, texts, out);
    out->prefix_length = config->prefix_lm ? (int32_t)choice->n_first : 0;
}

/* A pair's fraction of targets is not known beforehand; a quarter is a guess that only affects planned memory. */
static const Objective seq2seq_alone = { OBJECTIVE("seq2seq", STREAMS_DECODER, TEXT_DOCUMENTS, 1), .pairs = true,
                                         .target_share = 0.25, OBJECTIVE_STEPS(plan_alone, choose_alone, apply_alone) };

const Objective seq2seq_objective = { OBJECTIVE("seq2seq", STREAMS_BOTH, TEXT_DOCUMENTS, 1), .pairs = true,
                                      .target_share = 1, OBJECTIVE_STEPS(plan_seq2seq, choose_seq2seq, example_divide),
                                      .decoder_alone = &seq2seq_alone };
