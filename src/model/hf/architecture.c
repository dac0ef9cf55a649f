#include "model/hf/architecture.h"

const TensorName hf_lm_head[] = { TENSOR("lm_head", "lm_head.weight"), { 0 } };

/* Options that no architecture fixes: sizes, initial weights, and settings of parts that another option adds. */
/* clang-format off */
static const char *const kept[] = {
    "model.preset", "model.width", "model.ffn", "model.heads", "model.head_dim", "model.vocab", "model.vocab_multiple",
    "model.activation", "model.norm_eps", "model.max_positions", "model.position_zero", "model.rotary_base",
    "model.rel_buckets", "model.rel_max_distance", "model.qk_layer_scaling", "model.tie_embeddings",
    "model.head_activation", "model.labels", "model.inner_dropout", "model.init", "model.init_std",
    "model.init_scale_outputs", "model.sparse_block", "model.sparse_local", "model.sparse_window",
    "model.sparse_n_global", "model.sparse_global", "model.sparse_n_random", "model.sparse_horizontal",
    "model.sparse_rotations", "model.sparse_per_head", "model.sparse_seed", "lora.rank", "lora.alpha", "lora.targets",
    NULL,
};
/* clang-format on */

void hf_fit(const HfArchitecture *arch, ModelConfig *config)
{
    const ModelConfig was = *config;
    ModelConfig plain;
    bool no_decoder = arch->family == FAMILY_BERT || (arch->family == FAMILY_T5 && was.n_dec == 0);

    model_config_defaults(&plain);
    for (const OptionRow *row = model_options; row < model_options + n_model_options; row++)
        if (row->class == OPT_IDENTITY && !g_strv_contains(kept, row->name))
            options_copy_value(&model_table, config, &plain, row);
    config->family = (int)(no_decoder ? FAMILY_BERT : arch->family);
    config->n_enc = arch->family == FAMILY_GPT ? 0 : was.n_enc;
    config->n_dec = no_decoder ? 0 : was.n_dec;
    arch->shape(config, &was);
    if (!arch->own_head_dim)
        config->head_dim = config->width / config->heads;
}

TensorNames hf_names(const HfArchitecture *arch, const ModelConfig *config)
{
    TensorNames names = arch->names;
    bool plain = arch->family == FAMILY_T5 && config->classifier == LABELS_SPAN; /* T5ForQuestionAnswering */
    if (config->classifier != LABELS_NONE && arch->classifier_prefix && !plain)
        names.prefix = arch->classifier_prefix;
    return names;
}
