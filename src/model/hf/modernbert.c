/* ModernBertForMaskedLM and the bare ModernBertModel. */
#include "model/hf/architecture.h"

static const HfName names[] = {
    HF_SAME("shared", "model.embeddings.tok_embeddings.weight"),
    HF_SAME("lm_head", "decoder.weight"),
    HF_SAME("lm_head.bias", "decoder.bias"),
    HF_SAME("transform.dense", "head.dense.weight"),
    HF_SAME("transform.norm", "head.norm.weight"),
    HF_SAME("encoder.embed_norm", "model.embeddings.norm.weight"),
    HF_SAME("encoder.#.self.norm", "model.layers.#.attn_norm.weight"),
    HF_PART("encoder.#.self.q", "model.layers.#.attn.Wqkv.weight", 0, 3),
    HF_PART("encoder.#.self.k", "model.layers.#.attn.Wqkv.weight", 1, 3),
    HF_PART("encoder.#.self.v", "model.layers.#.attn.Wqkv.weight", 2, 3),
    HF_SAME("encoder.#.self.o", "model.layers.#.attn.Wo.weight"),
    HF_SAME("encoder.#.mlp.norm", "model.layers.#.mlp_norm.weight"),
    HF_PART("encoder.#.mlp.wi_0", "model.layers.#.mlp.Wi.weight", 0, 2),
    HF_PART("encoder.#.mlp.wi_1", "model.layers.#.mlp.Wi.weight", 1, 2),
    HF_SAME("encoder.#.mlp.wo", "model.layers.#.mlp.Wo.weight"),
    HF_SAME("encoder.final_norm", "model.final_norm.weight"),
};

static const char *const ignored[] = { NULL };

static const HfIntKey ints[] = {
    { "vocab_size", offsetof(ModelConfig, vocab), 50368, 1, 1 << 24 },
    { "hidden_size", offsetof(ModelConfig, width), 768, 1, 1 << 16 },
    { "intermediate_size", offsetof(ModelConfig, ffn), 1152, 1, 1 << 20 },
    { "num_hidden_layers", offsetof(ModelConfig, n_enc), 22, 1, 1000 },
    { "num_attention_heads", offsetof(ModelConfig, heads), 12, 1, 1 << 10 },
    { "max_position_embeddings", offsetof(ModelConfig, max_positions), 8192, 1, 1 << 24 },
    { "local_attention", offsetof(ModelConfig, window), 128, 2, 1 << 20 },
    { "global_attn_every_n_layers", offsetof(ModelConfig, global_every), 3, 1, 1000 },
};

static const HfRealKey reals[] = {
    { "norm_eps", offsetof(ModelConfig, norm_eps), 1e-5, 0, 1 },
    { "initializer_range", offsetof(ModelConfig, init_std), 0.02, 0, 100 },
};

static const HfFixedKey fixed[] = {
    { "attention_bias", "false" }, { "mlp_bias", "false" },        { "norm_bias", "false" },
    { "decoder_bias", "true" },    { "classifier_bias", "false" },
};

static void shape(ModelConfig *config)
{
    ModelConfig was = *config;
    hf_shape_plain(config, FAMILY_BERT);
    config->norm = NORM_LAYER;
    config->first_norm = false;
    config->embed_norm = config->gated = config->scale_scores = true;
    config->position = POSITION_ROTARY;
    config->rotary_local = was.rotary_local;
    config->window = was.window;
    config->global_every = was.global_every;
    config->head_dim = config->width / config->heads;
    config->head_transform = config->head_bias = was.head_transform;
    config->head_activation = was.head_activation;
}

/* transformers 5 lists the kind of every layer instead of saying how often one is global. */
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
    /* One global layer in all says no more than that the next would come later. */
    config->global_every = every < n ? (int64_t)every : MAX(config->global_every, (int64_t)n);
    return true;
}

static const char *const rates[] = { "embedding_dropout", "attention_dropout", "mlp_dropout" };

static bool read_modernbert(const json_t *root, ModelConfig *config, GError **error)
{
    config->init = INIT_SCHEME_NORMAL;
    config->inner_dropout = false;
    config->init_scale_outputs = true;
    int head;
    if (!hf_activation_read(root, "classifier_activation", "gelu", &head, error))
        return false;
    config->head_activation = head + 1;
    for (size_t i = 0; i < G_N_ELEMENTS(rates); i++)
        hf_warn_unread_rate(root, rates[i], 0);
    return read_layers(root, config, error) &&
           hf_rotary_read(root, "full_attention", "global_rope_theta", 160000, &config->rotary_base, error) &&
           hf_rotary_read(root, "sliding_attention", "local_rope_theta",
                          json_is_null(json_object_get(root, "local_rope_theta")) ? config->rotary_base : 10000,
                          &config->rotary_local, error) &&
           hf_activation_read(root, "hidden_activation", "gelu", &config->activation, error) &&
           hf_check_heads(config, error);
}

static void look(GHashTable *tensors, ModelConfig *config)
{
    config->head_transform = config->head_bias = g_hash_table_contains(tensors, "head.dense.weight");
}

/* Both generations' keys. */
static void write_modernbert(json_t *root, const ModelConfig *config, HfIds ids)
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
    json_object_set_new(root, "hidden_activation", json_string(hf_activation_name(config->activation)));
    json_object_set_new(root, "classifier_activation",
                        json_string(hf_activation_name((int)model_config_head_activation(config))));
    json_object_set_new(root, "tie_word_embeddings", json_boolean(config->tie_embeddings));
    hf_id_write(root, "pad_token_id", MAX(ids.pad, 0));
    hf_id_write(root, "eos_token_id", ids.eos);
}

static void drop_heads(ModelConfig *config)
{
    config->pooler = config->sentence_head = false;
    if (!config->head_transform)
        hf_drop_vocabulary_head(config);
}

static bool check_modernbert(const ModelConfig *config, GError **error)
{
    return (config->window > 0 && config->global_every > 0) ||
           fail_user(error,
                     "ModernBERT has local attention (model.window) and global layers between (model.global_every)");
}

const HfArchitecture hf_modernbert = { .model_type = "modernbert",
                                       .class_name = "ModernBertForMaskedLM",
                                       .prefix = "model.",
                                       HF_TABLES,
                                       .read = read_modernbert,
                                       .look = look,
                                       .write = write_modernbert,
                                       .shape = shape,
                                       .drop_heads = drop_heads,
                                       .check = check_modernbert };
