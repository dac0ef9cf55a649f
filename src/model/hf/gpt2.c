/* GPT2LMHeadModel, whose linears are (in, out) and whose queries, keys and values are one. */
#include "model/hf/architecture.h"

static const HfName names[] = {
    HF_SAME("shared", "transformer.wte.weight"),
    HF_SAME("lm_head", "lm_head.weight"),
    HF_SAME("decoder.positions", "transformer.wpe.weight"),
    HF_SAME("decoder.#.self.norm", "transformer.h.#.ln_1.weight"),
    HF_SAME("decoder.#.self.norm.bias", "transformer.h.#.ln_1.bias"),
    HF_TRANSPOSED_PART("decoder.#.self.q", "transformer.h.#.attn.c_attn.weight", 0, 3),
    HF_TRANSPOSED_PART("decoder.#.self.k", "transformer.h.#.attn.c_attn.weight", 1, 3),
    HF_TRANSPOSED_PART("decoder.#.self.v", "transformer.h.#.attn.c_attn.weight", 2, 3),
    HF_PART("decoder.#.self.q.bias", "transformer.h.#.attn.c_attn.bias", 0, 3),
    HF_PART("decoder.#.self.k.bias", "transformer.h.#.attn.c_attn.bias", 1, 3),
    HF_PART("decoder.#.self.v.bias", "transformer.h.#.attn.c_attn.bias", 2, 3),
    HF_TRANSPOSED("decoder.#.self.o", "transformer.h.#.attn.c_proj.weight"),
    HF_SAME("decoder.#.self.o.bias", "transformer.h.#.attn.c_proj.bias"),
    HF_SAME("decoder.#.mlp.norm", "transformer.h.#.ln_2.weight"),
    HF_SAME("decoder.#.mlp.norm.bias", "transformer.h.#.ln_2.bias"),
    HF_TRANSPOSED("decoder.#.mlp.wi", "transformer.h.#.mlp.c_fc.weight"),
    HF_SAME("decoder.#.mlp.wi.bias", "transformer.h.#.mlp.c_fc.bias"),
    HF_TRANSPOSED("decoder.#.mlp.wo", "transformer.h.#.mlp.c_proj.weight"),
    HF_SAME("decoder.#.mlp.wo.bias", "transformer.h.#.mlp.c_proj.bias"),
    HF_SAME("decoder.final_norm", "transformer.ln_f.weight"),
    HF_SAME("decoder.final_norm.bias", "transformer.ln_f.bias"),
};

/* The causal mask, and what stood for minus infinity in it. */
static const char *const ignored[] = { "transformer.h.#.attn.bias", "transformer.h.#.attn.masked_bias", NULL };

static const HfIntKey ints[] = {
    { "vocab_size", offsetof(ModelConfig, vocab), 50257, 1, 1 << 24 },
    { "n_positions", offsetof(ModelConfig, max_positions), 1024, 1, 1 << 24 },
    { "n_embd", offsetof(ModelConfig, width), 768, 1, 1 << 16 },
    { "n_layer", offsetof(ModelConfig, n_dec), 12, 1, 1000 },
    { "n_head", offsetof(ModelConfig, heads), 12, 1, 1 << 10 },
};

static const HfRealKey reals[] = {
    { "resid_pdrop", offsetof(ModelConfig, dropout), 0.1, 0, 0.99 },
    { "attn_pdrop", offsetof(ModelConfig, attention_dropout), 0.1, 0, 0.99 },
    { "layer_norm_epsilon", offsetof(ModelConfig, norm_eps), 1e-5, 0, 1 },
    { "initializer_range", offsetof(ModelConfig, init_std), 0.02, 0, 100 },
};

static const HfFixedKey fixed[] = {
    { "scale_attn_weights", "true" },
    { "scale_attn_by_inverse_layer_idx", "false" },
    { "add_cross_attention", "false" },
};

static void shape(ModelConfig *config)
{
    hf_shape_plain(config, FAMILY_GPT);
    config->norm = NORM_LAYER;
    config->norm_bias = config->bias = config->scale_scores = true;
    config->position = POSITION_LEARNED;
    config->gated = false;
    config->head_dim = config->width / config->heads;
}

static bool read_gpt2(const json_t *root, ModelConfig *config, GError **error)
{
    const HfIntKey inner = { "n_inner", offsetof(ModelConfig, ffn), 4 * config->width, 1, 1 << 20 };
    config->init = INIT_SCHEME_NORMAL;
    config->inner_dropout = false;
    config->init_scale_outputs = true;
    hf_warn_unread_rate(root, "embd_pdrop", config->dropout);
    return hf_int_read(root, &inner, &config->ffn, error) &&
           hf_activation_read(root, "activation_function", "gelu_new", &config->activation, error) &&
           hf_check_heads(config, error);
}

static void write_gpt2(json_t *root, const ModelConfig *config, HfIds ids)
{
    json_object_set_new(root, "n_inner", json_integer(config->ffn));
    json_object_set_new(root, "activation_function", json_string(hf_activation_name(config->activation)));
    json_object_set_new(root, "embd_pdrop", json_real(config->dropout));
    json_object_set_new(root, "tie_word_embeddings", json_boolean(config->tie_embeddings));
    hf_id_write_always(root, "bos_token_id", ids.bos);
    hf_id_write_always(root, "eos_token_id", ids.eos);
}

const HfArchitecture hf_gpt2 = { .model_type = "gpt2",
                                 .class_name = "GPT2LMHeadModel",
                                 .prefix = "transformer.",
                                 HF_TABLES,
                                 .read = read_gpt2,
                                 .write = write_gpt2,
                                 .shape = shape };
