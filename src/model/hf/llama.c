/* LlamaForCausalLM. */
#include "model/hf/architecture.h"

static const HfName names[] = {
    HF_SAME("shared", "model.embed_tokens.weight"),
    HF_SAME("lm_head", "lm_head.weight"),
    HF_SAME("decoder.#.self.norm", "model.layers.#.input_layernorm.weight"),
    HF_SAME("decoder.#.self.q", "model.layers.#.self_attn.q_proj.weight"),
    HF_SAME("decoder.#.self.k", "model.layers.#.self_attn.k_proj.weight"),
    HF_SAME("decoder.#.self.v", "model.layers.#.self_attn.v_proj.weight"),
    HF_SAME("decoder.#.self.o", "model.layers.#.self_attn.o_proj.weight"),
    HF_SAME("decoder.#.mlp.norm", "model.layers.#.post_attention_layernorm.weight"),
    HF_SAME("decoder.#.mlp.wi_0", "model.layers.#.mlp.gate_proj.weight"),
    HF_SAME("decoder.#.mlp.wi_1", "model.layers.#.mlp.up_proj.weight"),
    HF_SAME("decoder.#.mlp.wo", "model.layers.#.mlp.down_proj.weight"),
    HF_SAME("decoder.final_norm", "model.norm.weight"),
};

static const char *const ignored[] = { "model.layers.#.self_attn.rotary_emb.inv_freq", NULL };

static const HfIntKey ints[] = {
    { "vocab_size", offsetof(ModelConfig, vocab), 32000, 1, 1 << 24 },
    { "hidden_size", offsetof(ModelConfig, width), 4096, 1, 1 << 16 },
    { "intermediate_size", offsetof(ModelConfig, ffn), 11008, 1, 1 << 20 },
    { "num_hidden_layers", offsetof(ModelConfig, n_dec), 32, 1, 1000 },
    { "num_attention_heads", offsetof(ModelConfig, heads), 32, 1, 1 << 10 },
    { "max_position_embeddings", offsetof(ModelConfig, max_positions), 2048, 1, 1 << 24 },
};

static const HfRealKey reals[] = {
    { "attention_dropout", offsetof(ModelConfig, attention_dropout), 0, 0, 0.99 },
    { "rms_norm_eps", offsetof(ModelConfig, norm_eps), 1e-6, 0, 1 },
    { "initializer_range", offsetof(ModelConfig, init_std), 0.02, 0, 100 },
};

static const HfFixedKey fixed[] = {
    { "attention_bias", "false" },
    { "mlp_bias", "false" },
};

static void shape(ModelConfig *config)
{
    int64_t kv_heads = config->kv_heads;
    hf_shape_plain(config, FAMILY_GPT);
    config->kv_heads = kv_heads;
    config->scale_scores = config->gated = true;
    config->position = POSITION_ROTARY;
}

static bool read_llama(const json_t *root, ModelConfig *config, GError **error)
{
    const HfIntKey kv_heads = { "num_key_value_heads", 0, config->heads, 1, config->heads };
    const HfIntKey head_dim = { "head_dim", 0, config->width / config->heads, 1, 1 << 10 };
    config->init = INIT_SCHEME_NORMAL;
    config->inner_dropout = false;
    if (!hf_int_read(root, &kv_heads, &config->kv_heads, error) ||
        !hf_int_read(root, &head_dim, &config->head_dim, error) ||
        !hf_activation_read(root, "hidden_act", "silu", &config->activation, error))
        return false;
    return hf_rotary_read(root, NULL, "rope_theta", 10000, &config->rotary_base, error);
}

/* Both generations' keys: transformers 4 reads rope_theta, 5 rope_parameters. */
static void write_llama(json_t *root, const ModelConfig *config, HfIds ids)
{
    json_object_set_new(root, "num_key_value_heads", json_integer(model_config_kv_heads(config)));
    json_object_set_new(root, "head_dim", json_integer(config->head_dim));
    json_object_set_new(root, "hidden_act", json_string(hf_activation_name(config->activation)));
    json_object_set_new(root, "rope_theta", json_real(config->rotary_base));
    json_object_set_new(root, "rope_parameters", hf_rotary_json(config->rotary_base));
    json_object_set_new(root, "tie_word_embeddings", json_boolean(config->tie_embeddings));
    hf_id_write_always(root, "bos_token_id", ids.bos);
    hf_id_write_always(root, "eos_token_id", ids.eos);
}

const HfArchitecture hf_llama = { .model_type = "llama",
                                  .class_name = "LlamaForCausalLM",
                                  .prefix = "model.",
                                  HF_TABLES,
                                  .read = read_llama,
                                  .write = write_llama,
                                  .shape = shape };
