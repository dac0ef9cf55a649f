#include "model/layer_spec.h"

#include <math.h>

ModelSpec model_spec(const ModelConfig *config)
{
    return (ModelSpec){ .heads = (int32_t)config->heads,
                        .kv_heads = (int32_t)model_config_kv_heads(config),
                        .activation = (Activation)config->activation,
                        .norm = (NormKind)config->norm,
                        .post_norm = config->post_norm,
                        .eps = (float)config->norm_eps,
                        .score_scale = config->scale_scores ? 1 / sqrtf((float)config->head_dim) : 1,
                        .distance_keys = config->position == POSITION_RELATIVE_KEY_QUERY,
                        .embed_scale = config->scale_embedding ? sqrtf((float)config->width) : 1,
                        .dropout = (float)config->dropout,
                        .attention_dropout = (float)model_config_attention_dropout(config),
                        .activation_dropout = (float)model_config_activation_dropout(config),
                        .final_dropout = (float)(config->inner_dropout ? config->dropout : 0) };
}

LayerSpec layer_spec_outer(const ModelConfig *config, bool decoder)
{
    return (LayerSpec){ .decoder = decoder,
                        .relpos = { .n_buckets = (int32_t)config->rel_buckets,
                                    .max_distance = (int32_t)config->rel_max_distance,
                                    .rule = (RelposRule)config->rel_rule,
                                    .bidirectional = !decoder } };
}

LayerSpec layer_spec_block(const ModelConfig *config, bool decoder, int i, const BlockLayout *layout)
{
    LayerSpec spec = layer_spec_outer(config, decoder);
    bool local = config->window > 0 && (config->global_every == 0 || i % config->global_every != 0);
    int64_t window = decoder ? config->window - 1 : config->window / 2;

    spec.index = i;
    spec.window = local ? (int32_t)MAX(1, window) : 0;
    spec.layout = layout;
    spec.score_rescale = config->qk_layer_scaling ? (float)(i + 1) : 0;
    spec.local_rotary = local;
    return spec;
}
