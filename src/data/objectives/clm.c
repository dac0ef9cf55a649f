#include "data/objectives/clm.h"

#include "base/check.h"

#include <inttypes.h>

static bool plan(ObjectiveConfig *config, int64_t overlap, GError **error)
{
    if (config->target_length != 0)
        return fail_user(error,
                         "data.target_length=%" PRId64
                         ": this objective has no targets apart from its inputs; leave it "
                         "out",
                         config->target_length);
    int64_t longest = config->input_length + overlap;
    if (config->raw_length == 0 || config->raw_length > longest)
        config->raw_length = longest;
    if (config->raw_length <= overlap)
        return fail_user(error, "data.raw_length=%" PRId64 " leaves no token to predict; use 2 or more",
                         config->raw_length);
    return true;
}

bool clm_plan(ObjectiveConfig *config, GError **error)
{
    return plan(config, 1, error);
}

bool full_lm_plan(ObjectiveConfig *config, GError **error)
{
    return plan(config, 0, error);
}

/* Places, beginnings and weights from where the inputs hold EOD: it belongs to the document that it ends. */
static void mark_documents(const ObjectiveConfig *config, Example *out)
{
    int32_t place = 0;
    bool fresh = true;
    for (int64_t i = 0; i < out->n_inputs; i++) {
        bool ends = out->inputs[i] == config->eos;
        out->starts_sequence[i] = i == 0 || (fresh && config->reset_attention);
        if (fresh && config->reset_position)
            place = 0;
        out->position_ids[i] = place++;
        out->token_types[i] = 0;
        out->weights[i] = ends && config->mask_eod ? 0 : 1;
        fresh = ends;
    }
    out->label = -1;
}

void clm_example(const ObjectiveConfig *config, G_GNUC_UNUSED const Choice *choice, G_GNUC_UNUSED Philox *rng,
                 const int32_t *tokens, int64_t n, Example *out)
{
    CHECK(n >= 2 && n <= config->input_length + 1, "%" PRId64 " tokens, at most %" PRId64, n, config->input_length + 1);
    out->n_inputs = out->n_targets = n - 1;
    for (int64_t i = 0; i < n - 1; i++) {
        out->inputs[i] = tokens[i];
        out->targets[i] = tokens[i + 1];
    }
    mark_documents(config, out);
}

void full_lm_example(const ObjectiveConfig *config, G_GNUC_UNUSED const Choice *choice, G_GNUC_UNUSED Philox *rng,
                     const int32_t *tokens, int64_t n, Example *out)
{
    CHECK(n >= 1 && n <= config->input_length, "%" PRId64 " tokens, at most %" PRId64, n, config->input_length);
    out->n_inputs = out->n_targets = n;
    for (int64_t i = 0; i < n; i++) {
        out->inputs[i] = i == 0 ? config->eos : tokens[i - 1];
        out->targets[i] = tokens[i];
    }
    mark_documents(config, out);
}
