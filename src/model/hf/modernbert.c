/* ModernBERT: ModernBertForMaskedLM and the bare ModernBertModel. */
#include "model/hf/architecture.h"

static const TensorName body[] = {
    TENSOR("shared", "embeddings.tok_embeddings.weight"),
    TENSOR("encoder.embed_norm", "embeddings.norm.weight"),
    TENSOR("encoder.#.self.norm", "layers.#.attn_norm.weight"),
    TENSOR_PART("encoder.#.self.q", "layers.#.attn.Wqkv.weight", 0, 3),
    TENSOR_PART("encoder.#.self.k", "layers.#.attn.Wqkv.weight", 1, 3),
    TENSOR_PART("encoder.#.self.v", "layers.#.attn.Wqkv.weight", 2, 3),
    TENSOR("encoder.#.self.o", "layers.#.attn.Wo.weight"),
    TENSOR("encoder.#.mlp.norm", "layers.#.mlp_norm.weight"),
    TENSOR_PART("encoder.#.mlp.wi_0", "layers.#.mlp.Wi.weight", 0, 2),
    TENSOR_PART("encoder.#.mlp.wi_1", "layers.#.mlp.Wi.weight", 1, 2),
    TENSOR("encoder.#.mlp.wo", "layers.#.mlp.Wo.weight"),
    TENSOR("encoder.final_norm", "final_norm.weight"),
    { 0 },
};

static const TensorName heads[] = {
    TENSOR("lm_head", "decoder.weight"),          TENSOR("transform.dense", "head.dense.weight"),
    TENSOR("transform.norm", "head.norm.weight"), TENSOR("classifier", "classifier.weight"),
    TENSOR("span", "classifier.weight"),          { 0 },
};

static const HfKey keys[] = {
    HF_INT("vocab_size", vocab, 50368, 1, 1 << 24),
    HF_INT("hidden_size", width, 768, 1, 1 << 16),
    HF_INT("intermediate_size", ffn, 1152, 1, 1 << 20),
    HF_INT("num_hidden_layers", n_enc, 22, 1, 1000),
    HF_INT("num_attention_heads", heads, 12, 1, 1 << 10),
    HF_INT("max_position_embeddings", max_positions, 8192, 1, 1 << 24),
    HF_INT("local_attention", window, 128, 2, 1 << 20),
    HF_INT("global_attn_every_n_layers", global_every, 3, 1, 1000),
    HF_REAL("norm_eps", norm_eps, 1e-5, 0, 1),
    HF_REAL("initializer_range", init_std, 0.02, 0, 100),
    HF_ACTIVATION("hidden_activation", activation, "gelu"),
    HF_FIXED("attention_bias", "false"),
    HF_FIXED("mlp_bias", "false"),
    HF_FIXED("norm_bias", "false"),
    HF_FIXED("decoder_bias", "true"),
    HF_FIXED("classifier_bias", "false"),
    { 0 },
};

static void shape_modernbert(ModelConfig *config, const ModelConfig *was)
{
    config->norm = NORM_LAYER;
    config->first_norm = false;
    config->embed_norm = config->scale_scores = true;
    config->position = POSITION_ROTARY;
    config->rotary_local = was->rotary_local;
    config->window = was->window;
    config->global_every = was->global_every;
    config->head_transform = config->head_bias = was->head_transform;
    config->head_activation = was->head_activation;
    config->classifier = was->classifier;
    if (config->classifier) {
        config->head_transform = true;
        config->head_bias = false;
    }
}

/* transformers 5 writes layer_types, a list, in place of global_attn_every_n_layers. */
static bool read_layers(const json_t *root, ModelConfig *config, GError **error)
{
    const json_t *types = json_object_get(root, "layer_types");
    size_t n = json_array_size(types), every = 1;
    if (types == NULL || n == 0)
        return true;
    while (every < n && g_strcmp0(json_string_value(json_array_get(types, every)), "full_attention") != 0)
        every++;
    for (size_t i = 0; i < n; i++) {
        const char *wanted = i % every == 0 ? "full_attention" : "sliding_attention";
        if (g_strcmp0(json_string_value(json_array_get(types, i)), wanted) != 0)
            return fail_user(error, "layer_types is not full_attention on every n-th layer, the first included");
    }
    /* With a single global layer the list does not tell the period, only that it is at least the number of layers. */
    config->global_every = every < n ? (int64_t)every : MAX(config->global_every, (int64_t)n);
    return true;
}

static bool read_modernbert(const json_t *root, ModelConfig *config, GError **error)
{
    static const char *const rates[] = { "embedding_dropout", "attention_dropout", "mlp_dropout" };
    const HfKey head = HF_ACTIVATION("classifier_activation", head_activation, "gelu");
    if (!hf_key_read(root, &head, config, error))
        return false;
    config->head_activation++; /* model.head_activation is an Activation + 1 */
    for (size_t i = 0; i < G_N_ELEMENTS(rates); i++)
        hf_warn_unused_rate(root, rates[i], 0);
    return read_layers(root, config, error) &&
           hf_rotary_read(root, "full_attention", "global_rope_theta", 160000, &config->rotary_base, error) &&
           hf_rotary_read(root, "sliding_attention", "local_rope_theta",
                          json_is_null(json_object_get(root, "local_rope_theta")) ? config->rotary_base : 10000,
                          &config->rotary_local, error);
}

/* Writes the keys of both transformers 4 and transformers 5. */
static void write_modernbert(json_t *root, const ModelConfig *config, const TokenRoles *roles)
{
    double local = config->rotary_local > 0 ? config->rotary_local : config->rotary_base;
    json_t *types = json_array();
    for (int64_t i = 0; i < config->n_enc; i++)
        json_array_append_new(types,
                              json_string(i % config->global_every == 0 ? "full_attention" : "sliding_attention"));
    if (!config->head_transform)
        json_object_set_new(root, "architectures", json_pack("[s]", "ModernBertModel"));
    json_object_set_new(root, "layer_types", types);
    json_object_set_new(root, "global_rope_theta", json_real(config->rotary_base));
    json_object_set_new(root, "local_rope_theta", json_real(local));
    json_object_set_new(root, "rope_parameters",
                        json_pack("{s:o, s:o}", "full_attention", hf_rotary_json(config->rotary_base),
                                  "sliding_attention", hf_rotary_json(local)));
    json_object_set_new(root, "classifier_activation",
                        json_string(hf_activation_name((int)model_config_head_activation(config))));
    hf_id_write(root, "pad_token_id", MAX(roles->pad, 0));
    if (roles->eos.n > 0)
        hf_eos_write(root, roles);
}

static bool check_modernbert(const ModelConfig *config, GError **error)
{
    return (config->window > 0 && config->global_every > 0) ||
           fail_user(error,
                     "ModernBERT has local attention (model.window) and global layers between (model.global_every)");
}

const HfArchitecture hf_modernbert = {
    .model_type = "modernbert",
    .stored = ARCHITECTURE_MODERNBERT,
    .names = { "ModernBertForMaskedLM", "model.", body, heads, NULL },
    .keys = keys,
    .family = FAMILY_BERT,
    .default_ids = { 50283, 50281, 50282 },
    .init_scale_outputs = true,
    .read = read_modernbert,
    .write = write_modernbert,
    .shape = shape_modernbert,
    .check = check_modernbert,
};
