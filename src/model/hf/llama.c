/* Llama: LlamaForCausalLM. Qwen 3: Qwen3ForCausalLM, a Llama with norms of queries and keys. */
#include "model/hf/architecture.h"

static const TensorName body[] = {
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

/* The frequencies of rotary positions, which transformers computes from config.json and does not read from a file. */
static const IgnoredTensor ignored[] = { { "model.layers.#.self_attn.rotary_emb.inv_freq", NULL }, { 0 } };

static const HfKey keys[] = {
    HF_REAL("attention_dropout", attention_dropout, 0, 0, 0.99),
    HF_REAL("rms_norm_eps", norm_eps, 1e-6, 0, 1),
    HF_REAL("initializer_range", init_std, 0.02, 0, 100),
    HF_ACTIVATION("hidden_act", activation, "silu"),
    HF_FLAG("tie_word_embeddings", tie_embeddings, false),
    HF_FIXED("attention_bias", "false"),
    { 0 },
};

static const HfKey llama_keys[] = {
    HF_INT("vocab_size", vocab, 32000, 1, 1 << 24),
    HF_INT("hidden_size", width, 4096, 1, 1 << 16),
    HF_INT("intermediate_size", ffn, 11008, 1, 1 << 20),
    HF_INT("num_hidden_layers", n_dec, 32, 1, 1000),
    HF_INT("num_attention_heads", heads, 32, 1, 1 << 10),
    HF_INT("max_position_embeddings", max_positions, 2048, 1, 1 << 24),
    HF_FIXED("mlp_bias", "false"),
    { 0 },
};

static const HfKey qwen3_keys[] = {
    HF_INT("vocab_size", vocab, 151936, 1, 1 << 24),
    HF_INT("hidden_size", width, 4096, 1, 1 << 16),
    HF_INT("intermediate_size", ffn, 22016, 1, 1 << 20),
    HF_INT("num_hidden_layers", n_dec, 32, 1, 1000),
    HF_INT("num_attention_heads", heads, 32, 1, 1 << 10),
    HF_INT("head_dim", head_dim, 128, 1, 1 << 10),
    HF_INT("max_position_embeddings", max_positions, 32768, 1, 1 << 24),
    HF_FIXED("use_sliding_window", "false"),
    { 0 },
};

static void shape_llama(ModelConfig *config, const ModelConfig *was)
{
    config->kv_heads = was->kv_heads;
    config->scale_scores = true;
    config->position = POSITION_ROTARY;
}

static void shape_qwen3(ModelConfig *config, const ModelConfig *was)
{
    shape_llama(config, was);
    config->qk_norm = QK_NORM_RMS;
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

static bool read_qwen3(const json_t *root, ModelConfig *config, GError **error)
{
    /* Qwen3Config has 32 by default, and takes null for as many as there are heads of queries. */
    const bool null = json_is_null(json_object_get(root, "num_key_value_heads"));
    const double heads = (double)config->heads;
    const HfKey kv_heads = HF_INT("num_key_value_heads", kv_heads, null ? heads : 32, 1, heads);
    return hf_key_read(root, &kv_heads, config, error) &&
           hf_rotary_read(root, NULL, "rope_theta", 10000, &config->rotary_base, error);
}

/* transformers 4 reads rope_theta, transformers 5 reads rope_parameters. */
static void write_llama(json_t *root, const ModelConfig *config, const TokenRoles *roles)
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
    .names = { "LlamaForCausalLM", "model.", body, hf_lm_head, ignored },
    .keys = llama_keys,
    .more_keys = keys,
    .family = FAMILY_GPT,
    .own_head_dim = true,
    .default_ids = { -1, 1, 2 },
    .read = read_llama,
    .write = write_llama,
    .shape = shape_llama,
};

const HfArchitecture hf_qwen3 = {
    .model_type = "qwen3",
    .stored = ARCHITECTURE_QWEN3,
    .names = { "Qwen3ForCausalLM", "model.", body, hf_lm_head, NULL },
    .keys = qwen3_keys,
    .more_keys = keys,
    .family = FAMILY_GPT,
    .own_head_dim = true,
    .default_ids = { -1, -1, -1 },
    .read = read_qwen3,
    .write = write_llama,
    .shape = shape_qwen3,
};
