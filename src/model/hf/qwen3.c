/* Qwen 3: Qwen3ForCausalLM, a Llama with norms of queries and keys. */
#include "model/hf/architecture.h"

static const HfKey keys[] = {
    HF_INT("vocab_size", vocab, 151936, 1, 1 << 24),
    HF_INT("hidden_size", width, 4096, 1, 1 << 16),
    HF_INT("intermediate_size", ffn, 22016, 1, 1 << 20),
    HF_INT("num_hidden_layers", n_dec, 32, 1, 1000),
    HF_INT("num_attention_heads", heads, 32, 1, 1 << 10),
    HF_INT("head_dim", head_dim, 128, 1, 1 << 10),
    HF_INT("max_position_embeddings", max_positions, 32768, 1, 1 << 24),
    HF_REAL("attention_dropout", attention_dropout, 0, 0, 0.99),
    HF_REAL("rms_norm_eps", norm_eps, 1e-6, 0, 1),
    HF_REAL("initializer_range", init_std, 0.02, 0, 100),
    HF_ACTIVATION("hidden_act", activation, "silu"),
    HF_FLAG("tie_word_embeddings", tie_embeddings, false),
    HF_FIXED("attention_bias", "false"),
    HF_FIXED("use_sliding_window", "false"),
    { 0 },
};

static void shape_qwen3(ModelConfig *config, const ModelConfig *was)
{
    config->kv_heads = was->kv_heads;
    config->qk_norm = QK_NORM_RMS;
    config->scale_scores = true;
    config->position = POSITION_ROTARY;
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

const HfArchitecture hf_qwen3 = {
    .model_type = "qwen3",
    .stored = ARCHITECTURE_QWEN3,
    .names = { "Qwen3ForCausalLM", "model.", hf_llama_body, hf_lm_head, NULL },
    .keys = keys,
    .family = FAMILY_GPT,
    .own_head_dim = true,
    .default_ids = { -1, -1, -1 },
    .read = read_qwen3,
    .write = hf_write_llama,
    .shape = shape_qwen3,
};
