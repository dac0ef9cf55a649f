/* Llama: LlamaForCausalLM. */
#include "model/hf/architecture.h"

const TensorName hf_llama_body[] = {
    TENSOR("shared", "embed_tokens.weight"),
    TENSOR("decoder.#.self.norm", "layers.#.input_layernorm.weight"),
    TENSOR("decoder.#.self.q_norm", "layers.#.self_attn.q_norm.weight"),
    TENSOR("decoder.#.self.k_norm", "layers.#.self_attn.k_norm.weight"),
    TENSOR("decoder.#.self.*", "layers.#.self_attn.*_proj.weight"),
    TENSOR("decoder.#.mlp.norm", "layers.#.post_attention_layernorm.weight"),
    TENSOR("decoder.#.mlp.wi_0", "layers.#.mlp.gate_proj.weight"),
    TENSOR("decoder.#.mlp.wi_1", "layers.#.mlp.up_proj.weight"),
    TENSOR("decoder.#.mlp.wo", "layers.#.mlp.down_proj.weight"),
    TENSOR("decoder.final_norm", "norm.weight"),
    { 0 },
};

static const char *const ignored[] = { "model.layers.#.self_attn.rotary_emb.inv_freq", NULL };

static const HfKey keys[] = {
    HF_INT("vocab_size", vocab, 32000, 1, 1 << 24),
    HF_INT("hidden_size", width, 4096, 1, 1 << 16),
    HF_INT("intermediate_size", ffn, 11008, 1, 1 << 20),
    HF_INT("num_hidden_layers", n_dec, 32, 1, 1000),
    HF_INT("num_attention_heads", heads, 32, 1, 1 << 10),
    HF_INT("max_position_embeddings", max_positions, 2048, 1, 1 << 24),
    HF_REAL("attention_dropout", attention_dropout, 0, 0, 0.99),
    HF_REAL("rms_norm_eps", norm_eps, 1e-6, 0, 1),
    HF_REAL("initializer_range", init_std, 0.02, 0, 100),
    HF_ACTIVATION("hidden_act", activation, "silu"),
    HF_FLAG("tie_word_embeddings", tie_embeddings, false),
    HF_FIXED("attention_bias", "false"),
    HF_FIXED("mlp_bias", "false"),
    HF_FIXED("is_causal", "true"),
    { 0 },
};

static void shape_llama(ModelConfig *config, const ModelConfig *was)
{
    config->kv_heads = was->kv_heads;
    config->scale_scores = true;
    config->position = POSITION_ROTARY;
}

static bool read_llama(const json_t *root, ModelConfig *config, GError **error)
{
    const int64_t head_dim = config->width / config->heads;
    const HfKey derived[] = {
        HF_INT("num_key_value_heads", kv_heads, (double)config->heads, 1, (double)config->heads),
        HF_INT("head_dim", head_dim, (double)head_dim, 1, 1 << 10),
        { 0 },
    };
    return hf_keys_read(root, derived, config, error) &&
           hf_rotary_read(root, NULL, "rope_theta", 10000, &config->rotary_base, error);
}

/* transformers 4 reads rope_theta, transformers 5 reads rope_parameters. */
void hf_write_llama(json_t *root, const ModelConfig *config, const TokenRoles *roles)
{
    json_object_set_new(root, "num_key_value_heads", json_integer(model_config_kv_heads(config)));
    json_object_set_new(root, "head_dim", json_integer(config->head_dim));
    json_object_set_new(root, "rope_theta", json_real(config->rotary_base));
    json_object_set_new(root, "rope_parameters", hf_rotary_json(config->rotary_base));
    hf_ends_write(root, roles);
}

const HfArchitecture hf_llama = {
    .model_type = "llama",
    .stored = ARCHITECTURE_LLAMA,
    .names = { "LlamaForCausalLM", "model.", hf_llama_body, hf_lm_head, ignored },
    .keys = keys,
    .family = FAMILY_GPT,
    .own_head_dim = true,
    .default_ids = { -1, 1, 2 },
    .read = read_llama,
    .write = hf_write_llama,
    .shape = shape_llama,
};
