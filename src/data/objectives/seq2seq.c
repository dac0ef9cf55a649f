#include "data/objectives/seq2seq.h"

#include <inttypes.h>
#include <string.h>

#define DEFAULT_TARGET_LENGTH 128

static bool plan_seq2seq(ObjectiveConfig *config, GError **error)
{
    if (config->target_length == 0)
        config->target_length = DEFAULT_TARGET_LENGTH;
    if (config->raw_length != 0)
        return fail_user(error, "data.raw_length=%" PRId64 ": data.objective=seq2seq takes whole pairs; leave it out",
                         config->raw_length);
    config->raw_length = config->input_length + config->target_length; /* more than a pair without its two EOS */
    return true;
}

static void choose_seq2seq(G_GNUC_UNUSED const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    choice->n_inputs = choice->n_first + 1;
    choice->n_targets = n - choice->n_first + 1;
}

static void apply_seq2seq(const ObjectiveConfig *config, const Choice *choice, G_GNUC_UNUSED Philox *rng,
                          const Text *texts, Example *out)
{
    int64_t n_input = choice->n_inputs - 1, n_target = choice->n_targets - 1;
    memcpy(out->inputs, texts->tokens, (size_t)n_input * sizeof *texts->tokens);
    memcpy(out->targets, texts->tokens + n_input, (size_t)n_target * sizeof *texts->tokens);
    out->inputs[n_input] = out->targets[n_target] = config->eos;
    out->n_inputs = choice->n_inputs;
    out->n_targets = choice->n_targets;
}

/* ---- decoder-only models ---- */

static bool plan_alone(ObjectiveConfig *config, GError **error)
{
    if (config->raw_length != 0)
        return fail_user(error, "data.raw_length=%" PRId64 ": data.objective=seq2seq takes whole pairs; leave it out",
                         config->raw_length);
    config->raw_length = config->input_length + 1;
    return true;
}

static void choose_alone(G_GNUC_UNUSED const ObjectiveConfig *config, int64_t n, Choice *choice)
{
    choice->n_targets = n;
}

static void apply_alone(const ObjectiveConfig *config, const Choice *choice, G_GNUC_UNUSED Philox *rng,
                        const Text *texts, Example *out)
{
    int64_t n = texts->n;
    example_begin(out, n);
    out->prefix_length = config->prefix_lm ? (int32_t)choice->n_first : 0;
    for (int64_t i = 0; i < n; i++) {
        out->inputs[i] = texts->tokens[i];
        out->targets[i] = i + 1 < n ? texts->tokens[i + 1] : config->eos;
        out->weights[i] = i + 1 < choice->n_first ? 0 : 1;
    }
}

/* The target's fraction of a pair is not known beforehand; a quarter is a guess that only affects the planned memory of
 * logits. */
static const Objective seq2seq_alone = { .name = "seq2seq",
                                         .streams = STREAMS_DECODER,
                                         .text = TEXT_DOCUMENTS,
                                         .pairs = true,
                                         .min_length = 1,
                                         .target_share = 0.25,
                                         .plan = plan_alone,
                                         .choose = choose_alone,
                                         .apply = apply_alone };

const Objective seq2seq_objective = { .name = "seq2seq",
                                      .streams = STREAMS_BOTH,
                                      .text = TEXT_DOCUMENTS,
                                      .pairs = true,
                                      .min_length = 1,
                                      .target_share = 1,
                                      .plan = plan_seq2seq,
                                      .choose = choose_seq2seq,
                                      .apply = apply_seq2seq,
                                      .decoder_alone = &seq2seq_alone };
