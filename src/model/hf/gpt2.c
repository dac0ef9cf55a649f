/* GPT-2: GPT2LMHeadModel. Weights of linear layers have shape (in, out); queries, keys and values are one tensor. */
#include "model/hf/architecture.h"

static const TensorName body[] = {
    TENSOR("shared", "wte.weight"),
    TENSOR("decoder.positions", "wpe.weight"),
    TENSOR("decoder.#.self.norm", "h.#.ln_1.weight"),
    TENSOR_TRANSPOSED_PART("decoder.#.self.q", "h.#.attn.c_attn.weight", 0, 3),
    TENSOR_TRANSPOSED_PART("decoder.#.self.k", "h.#.attn.c_attn.weight", 1, 3),
    TENSOR_TRANSPOSED_PART("decoder.#.self.v", "h.#.attn.c_attn.weight", 2, 3),
    TENSOR_TRANSPOSED("decoder.#.self.o", "h.#.attn.c_proj.weight"),
    TENSOR("decoder.#.mlp.norm", "h.#.ln_2.weight"),
    TENSOR_TRANSPOSED("decoder.#.mlp.wi", "h.#.mlp.c_fc.weight"),
    TENSOR_TRANSPOSED("decoder.#.mlp.wo", "h.#.mlp.c_proj.weight"),
    TENSOR("decoder.final_norm", "ln_f.weight"),
    { 0 },
};

/* The causal mask, and its number for minus infinity: transformers makes both itself, and reads none from a file. */
static const IgnoredTensor ignored[] = {
    { "transformer.h.#.attn.bias", NULL },
    { "transformer.h.#.attn.masked_bias", NULL },
    { 0 },
};

static const HfKey keys[] = {
    HF_INT("vocab_size", vocab, 50257, 1, 1 << 24),
    HF_INT("n_positions", max_positions, 1024, 1, 1 << 24),
    HF_INT("n_embd", width, 768, 1, 1 << 16),
    HF_INT("n_layer", n_dec, 12, 1, 1000),
    HF_INT("n_head", heads, 12, 1, 1 << 10),
    HF_REAL("resid_pdrop", dropout, 0.1, 0, 0.99),
    HF_REAL("attn_pdrop", attention_dropout, 0.1, 0, 0.99),
    HF_REAL("layer_norm_epsilon", norm_eps, 1e-5, 0, 1),
    HF_REAL("initializer_range", init_std, 0.02, 0, 100),
    HF_ACTIVATION("activation_function", activation, "gelu_new"),
    HF_FIXED("scale_attn_weights", "true"),
    HF_FIXED("scale_attn_by_inverse_layer_idx", "false"),
    HF_FIXED("add_cross_attention", "false"),
    { 0 },
};

static const HfAlias aliases[] = {
    { "hidden_size", "n_embd" },
    { "max_position_embeddings", "n_positions" },
    { "num_attention_heads", "n_head" },
    { "num_hidden_layers", "n_layer" },
    { 0 },
};

static void shape_gpt2(ModelConfig *config, G_GNUC_UNUSED const ModelConfig *was)
{
    config->norm = NORM_LAYER;
    config->gated = false;
    config->norm_bias = config->bias = config->scale_scores = true;
    config->position = POSITION_LEARNED;
}

static bool read_gpt2(const json_t *root, ModelConfig *config, GError **error)
{
    const HfKey inner = HF_INT("n_inner", ffn, 4 * (double)config->width, 1, 1 << 20);
    hf_warn_unused_rate(root, "embd_pdrop", config->dropout);
    return hf_key_read(root, &inner, config, error);
}

static void write_gpt2(json_t *root, const ModelConfig *config, const TokenRoles *roles)
{
    json_object_set_new(root, "n_inner", json_integer(config->ffn));
    json_object_set_new(root, "embd_pdrop", json_real(config->dropout));
    hf_ends_write(root, roles);
}

const HfArchitecture hf_gpt2 = {
    .model_type = "gpt2",
    .stored = ARCHITECTURE_GPT2,
    .names = { "GPT2LMHeadModel", "transformer.", body, hf_lm_head, ignored },
    .keys = keys,
    .aliases = aliases,
    .family = FAMILY_GPT,
    .default_ids = { -1, 50256, 50256 },
    .init_scale_outputs = true,
    .read = read_gpt2,
    .write = write_gpt2,
    .shape = shape_gpt2,
};
