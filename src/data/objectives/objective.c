#include "data/objectives/objective.h"

#include "base/check.h"

#include <string.h>

ObjectiveOwn objective_own(const void *values, size_t n)
{
    ObjectiveOwn own = { 0 };
    CHECK(n <= sizeof own.bytes, "%zu bytes of an objective's own, at most %zu", n, sizeof own.bytes);
    memcpy(own.bytes, values, n);
    return own;
}

int32_t objective_enc_length(const Objective *objective, const ObjectiveConfig *config)
{
    return objective->streams == STREAMS_DECODER ? 0 : (int32_t)config->input_length;
}

int32_t objective_dec_length(const Objective *objective, const ObjectiveConfig *config)
{
    if (objective->streams == STREAMS_BOTH)
        return (int32_t)config->target_length;
    return objective->streams == STREAMS_DECODER ? (int32_t)config->input_length : 0;
}

double objective_target_share(const Objective *objective, const ObjectiveConfig *config)
{
    if (objective->streams == STREAMS_ENCODER)
        return config->noise_density;
    return objective->target_share > 0 ? objective->target_share : 1;
}

void example_init(Example *example, const ObjectiveConfig *config)
{
    gsize inputs = (gsize)config->input_length;
    *example = (Example){ .inputs = g_new0(int32_t, inputs),
                          .targets = g_new0(int32_t, MAX(inputs, (gsize)config->target_length)),
                          .weights = g_new0(float, inputs),
                          .position_ids = g_new0(int32_t, inputs),
                          .token_types = g_new0(int32_t, inputs),
                          .starts_sequence = g_new0(bool, inputs),
                          .label = -1 };
}

void example_clear(Example *example)
{
    g_free(example->inputs);
    g_free(example->targets);
    g_free(example->weights);
    g_free(example->position_ids);
    g_free(example->token_types);
    g_free(example->starts_sequence);
}

void example_begin(Example *example, int64_t n)
{
    example->n_inputs = example->n_targets = n;
    example->prefix_length = 0;
    example->label = -1;
    example->label_end = 0;
    for (int64_t i = 0; i < n; i++) {
        example->weights[i] = 1;
        example->position_ids[i] = (int32_t)i;
        example->token_types[i] = 0;
        example->starts_sequence[i] = i == 0;
    }
}

void example_divide(const ObjectiveConfig *config, const Choice *choice, G_GNUC_UNUSED Philox *rng, const Text *texts,
                    Example *out)
{
    int64_t n_input = choice->n_inputs - 1, n_target = choice->n_targets - 1;
    memcpy(out->inputs, texts->tokens, (size_t)n_input * sizeof *texts->tokens);
    memcpy(out->targets, texts->tokens + n_input, (size_t)n_target * sizeof *texts->tokens);
    out->inputs[n_input] = out->targets[n_target] = config->eos;
    out->n_inputs = choice->n_inputs;
    out->n_targets = choice->n_targets;
}

void example_continue(const ObjectiveConfig *config, const Choice *choice, G_GNUC_UNUSED Philox *rng, const Text *texts,
                      Example *out)
{
    int64_t n = texts->n;
    example_begin(out, n);
    for (int64_t i = 0; i < n; i++) {
        out->inputs[i] = texts->tokens[i];
        out->targets[i] = i + 1 < n ? texts->tokens[i + 1] : config->eos;
        out->weights[i] = i + 1 < choice->n_first ? 0 : 1;
    }
}
