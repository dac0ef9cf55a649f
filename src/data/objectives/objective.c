#include "data/objectives/objective.h"

const char *const sentence_pairs_names[] = {
    [PAIRS_NONE] = "none", [PAIRS_ORDER] = "order", [PAIRS_NEXT] = "next", NULL
};

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
