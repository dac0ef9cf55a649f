#include "model/hf/architecture.h"

const TensorName hf_lm_head[] = { TENSOR("lm_head", "lm_head.weight"), { 0 } };

static void shape_plain(ModelConfig *config)
{
    config->kv_heads = config->rotary_dim = config->token_types = config->window = config->global_every = 0;
    config->sparsity.pattern = SPARSE_NONE;
    config->norm = NORM_RMS;
    config->position_offset = 0;
    config->rotary_local = 0;
    config->first_norm = config->final_norm = true;
    config->bias = config->norm_bias = config->post_norm = config->embed_norm = false;
    config->gated = config->scale_scores = config->scale_logits = config->scale_embedding = false;
    config->rel_rule = RELPOS_T5;
    config->memory_tokens = 0;
    config->rel_per_block = config->rel_encoder_only = config->context_queries = false;
    config->head_transform = config->head_bias = config->pooler = config->sentence_head = false;
    config->classifier = LABELS_NONE;
    config->classifier_dense = false;
}

void hf_fit(const HfArchitecture *arch, ModelConfig *config)
{
    const ModelConfig was = *config;
    bool no_decoder = arch->family == FAMILY_BERT || (arch->family == FAMILY_T5 && was.n_dec == 0);

    config->family = (int)(no_decoder ? FAMILY_BERT : arch->family);
    config->n_enc = arch->family == FAMILY_GPT ? 0 : was.n_enc;
    config->n_dec = no_decoder ? 0 : was.n_dec;
    shape_plain(config);
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
