/* clm.c: causal language modelling on a decoder. There are two objectives. clm, as in Megatron: the targets are the
 * inputs shifted by one token, and consecutive samples share one token. full_lm, T5's full language modelling: the
 * targets are the whole sample; the inputs are EOS followed by all targets except the last. */
#include "base/check.h"
#include "data/objectives/objectives.h"

#include <inttypes.h>

#define AT(field) offsetof(ClmSettings, field)
static const OptionRow clm_options[] = {
    { "data.reset_attention", OPT_BOOL, AT(reset_attention), "false", 0, 0, OPT_IDENTITY, NULL,
      "clm: attention does not cross the end of a document" },
    { "data.reset_position", OPT_BOOL, AT(reset_position), "false", 0, 0, OPT_IDENTITY, NULL,
      "clm: position ids start again with every document" },
    { "data.mask_eod", OPT_BOOL, AT(mask_eod), "false", 0, 0, OPT_IDENTITY, NULL,
      "clm: no loss where the input token is the end of a document" },
};
#undef AT

static bool plan_clm(ObjectiveConfig *config, int64_t overlap, GError **error)
{
    const ClmSettings *settings = (const void *)&config->own;
    if (config->target_length != 0)
        return fail_user(
            error, "data.target_length=%" PRId64 ": this objective has no targets apart from its inputs; leave it out",
            config->target_length);
    int64_t longest = config->input_length + overlap;
    if (config->raw_length == 0 || config->raw_length > longest)
        config->raw_length = longest;
    config->max_segments = settings->reset_attention ? config->input_length : 1;
    if (config->raw_length <= overlap)
        return fail_user(error, "data.raw_length=%" PRId64 " leaves no token to predict; use 2 or more",
                         config->raw_length);
    return true;
}

static bool clm_plan(ObjectiveConfig *config, GError **error)
{
    return plan_clm(config, 1, error);
}

static bool full_lm_plan(ObjectiveConfig *config, GError **error)
{
    return plan_clm(config, 0, error);
}

/* Documents end at EOS, which belongs to the document that it ends. */
static void mark_documents(const ObjectiveConfig *config, Example *out)
{
    const ClmSettings *settings = (const void *)&config->own;
    int32_t position = 0;
    bool starts = false;
    for (int64_t i = 0; i < out->n_inputs; i++) {
        bool ends = out->inputs[i] == config->eos;
        if (starts && settings->reset_attention)
            out->starts_sequence[i] = true;
        if (starts && settings->reset_position)
            position = 0;
        out->position_ids[i] = position++;
        if (ends && settings->mask_eod)
            out->weights[i] = 0;
        starts = ends;
    }
}

/* The targets are the tokens from `overlap` on; the input at each is the token before it, EOS before the first. */
static void apply_clm(const ObjectiveConfig *config, int64_t overlap, const Text *texts, Example *out)
{
    int64_t n = texts->n - overlap;
    CHECK(n >= 1 && n <= config->input_length, "%" PRId64 " tokens, at most %" PRId64, n, config->input_length);
    example_begin(out, n);
    for (int64_t i = 0; i < n; i++) {
        out->inputs[i] = i + overlap == 0 ? config->eos : texts->tokens[i + overlap - 1];
        out->targets[i] = texts->tokens[i + overlap];
    }
    mark_documents(config, out);
}

static void clm_apply(const ObjectiveConfig *config, G_GNUC_UNUSED const Choice *choice, G_GNUC_UNUSED Philox *rng,
                      const Text *texts, Example *out)
{
    apply_clm(config, 1, texts, out);
}

static void full_lm_apply(const ObjectiveConfig *config, G_GNUC_UNUSED const Choice *choice, G_GNUC_UNUSED Philox *rng,
                          const Text *texts, Example *out)
{
    apply_clm(config, 0, texts, out);
}

const Objective clm_objective = { OBJECTIVE("clm", STREAMS_DECODER, TEXT_CONCATENATED, 2), .separated = true,
                                  .overlap = 1, OBJECTIVE_OPTIONS(clm_options),
                                  OBJECTIVE_STEPS(clm_plan, NULL, clm_apply) };

/* full_lm has the same settings as clm. */
const Objective full_lm_objective = { OBJECTIVE("full_lm", STREAMS_DECODER, TEXT_CONCATENATED, 1), .separated = true,
                                      OBJECTIVE_STEPS(full_lm_plan, NULL, full_lm_apply) };
