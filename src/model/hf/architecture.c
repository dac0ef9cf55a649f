#include "model/hf/architecture.h"

const TensorName hf_lm_head[] = { TENSOR("lm_head", "lm_head.weight"), { 0 } };

void hf_shape_plain(ModelConfig *config, Family family)
{
    config->family = (int)family;
    config->n_enc = family == FAMILY_GPT ? 0 : config->n_enc;
    config->n_dec = family == FAMILY_BERT ? 0 : config->n_dec;
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
}

void hf_fix_head(ModelConfig *config, Activation activation)
{
    if (config->head_transform && model_config_head_activation(config) != activation)
        config->head_activation = (int)activation == config->activation ? 0 : (int)activation + 1;
}

void hf_drop_vocabulary_head(ModelConfig *config)
{
    config->head_transform = config->head_bias = false;
    config->tie_embeddings = true;
}

bool hf_check_heads(const ModelConfig *config, GError **error)
{
    return config->width % config->heads == 0 ||
           fail_user(error, "a width of %" G_GINT64_FORMAT " is not shared evenly by %" G_GINT64_FORMAT " heads",
                     config->width, config->heads);
}

void hf_prefer(GHashTable *tensors, const char *name, const char *live)
{
    gpointer tensor = g_hash_table_lookup(tensors, live);
    if (tensor)
        g_hash_table_replace(tensors, g_strdup(name), tensor);
}
