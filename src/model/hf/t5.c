/* T5: T5ForConditionalGeneration, T5ForSequenceClassification, T5ForQuestionAnswering and, without a decoder,
 * T5EncoderModel and T5ForTokenClassification; the same for MT5 and UMT5. */
#include "model/hf/architecture.h"

static const TensorName body[] = {
    TENSOR("shared", "shared.weight"),
    TENSOR("*.relpos", "*.block.0.layer.0.SelfAttention.relative_attention_bias.weight"),
    TENSOR("*.#.self.relpos", "*.block.#.layer.0.SelfAttention.relative_attention_bias.weight"),
    TENSOR("*.#.self.norm", "*.block.#.layer.0.layer_norm.weight"),
    TENSOR("*.#.self.*", "*.block.#.layer.0.SelfAttention.*.weight"),
    TENSOR("decoder.#.cross.norm", "decoder.block.#.layer.1.layer_norm.weight"),
    TENSOR("decoder.#.cross.*", "decoder.block.#.layer.1.EncDecAttention.*.weight"),
    TENSOR("encoder.#.mlp.norm", "encoder.block.#.layer.1.layer_norm.weight"),
    TENSOR("encoder.#.mlp.*", "encoder.block.#.layer.1.DenseReluDense.*.weight"),
    TENSOR("decoder.#.mlp.norm", "decoder.block.#.layer.2.layer_norm.weight"),
    TENSOR("decoder.#.mlp.*", "decoder.block.#.layer.2.DenseReluDense.*.weight"),
    TENSOR("*.final_norm", "*.final_layer_norm.weight"),
    { 0 },
};

static const TensorName heads[] = {
    TENSOR("lm_head", "lm_head.weight"),
    TENSOR("classifier", "classifier.weight"),
    TENSOR("classifier.dense", "classification_head.dense.weight"),
    TENSOR("classifier.out", "classification_head.out_proj.weight"),
    TENSOR("span", "qa_outputs.weight"),
    { 0 },
};

#define CLASSIFIER_PREFIX "transformer."

/* Copies of the embedding, and a relative position bias of cross-attention that transformers does not use. */
static const IgnoredTensor ignored[] = {
    { "*.embed_tokens.weight", "shared" },
    { "transformer.*.embed_tokens.weight", "shared" },
    { "transformer.decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight", NULL },
    { "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight", NULL },
    { 0 },
};

static const HfKey keys[] = {
    HF_INT("d_model", width, 512, 1, 1 << 16),
    HF_INT("d_kv", head_dim, 64, 1, 1 << 12),
    HF_INT("relative_attention_num_buckets", rel_buckets, 32, 4, 1 << 12),
    HF_INT("relative_attention_max_distance", rel_max_distance, 128, 2, 1 << 20),
    HF_REAL("dropout_rate", dropout, 0.1, 0, 0.99),
    HF_REAL("layer_norm_epsilon", norm_eps, 1e-6, 0, 1),
    { 0 },
};

static const HfKey t5_keys[] = {
    HF_INT("vocab_size", vocab, 32128, 1, 1 << 24),
    HF_INT("d_ff", ffn, 2048, 1, 1 << 20),
    HF_INT("num_heads", heads, 8, 1, 1 << 12),
    HF_INT("num_layers", n_enc, 6, 1, 1000),
    { 0 },
};

/* The keys of T5 with mT5's defaults. */
static const HfKey mt5_keys[] = {
    HF_INT("vocab_size", vocab, 250112, 1, 1 << 24),
    HF_INT("d_ff", ffn, 1024, 1, 1 << 20),
    HF_INT("num_heads", heads, 6, 1, 1 << 12),
    HF_INT("num_layers", n_enc, 8, 1, 1000),
    { 0 },
};

static const HfAlias aliases[] = {
    { "hidden_size", "d_model" },
    { "num_attention_heads", "num_heads" },
    { "num_hidden_layers", "num_layers" },
    { "head_dim", "d_kv" },
    { 0 },
};

#define GATED "gated-"

/* Reads feed_forward_proj: the name of an activation, with the prefix "gated-" if the feed-forward network is gated;
 * "gated-gelu" means gelu_new. The keys derived from it, dense_act_fn and is_gated_act, take precedence. */
static bool read_activation(const json_t *root, const char *default_proj, ModelConfig *config, GError **error)
{
    const json_t *value = json_object_get(root, "feed_forward_proj");
    const char *proj = value ? json_string_value(value) : default_proj;
    config->gated = proj && g_str_has_prefix(proj, GATED);
    const char *name = config->gated ? proj + strlen(GATED) : proj;
    if (g_strcmp0(proj, GATED "gelu") == 0)
        name = "gelu_new";
    if (hf_activation_of(name) < 0)
        return hf_fail_activation("feed_forward_proj", proj, ", or such as gated-gelu", error);
    const HfKey derived = HF_ACTIVATION("dense_act_fn", activation, name);
    return hf_key_read(root, &derived, config, error) && hf_flag_read(root, "is_gated_act", &config->gated, error);
}

static void write_activation(json_t *root, const ModelConfig *config)
{
    const char *name = hf_activation_name(config->activation);
    const char *short_name = config->gated && config->activation == ACT_GELU_TANH ? "gelu" : name;
    g_autofree char *whole = g_strconcat(config->gated ? GATED : "", short_name, NULL);
    json_object_set_new(root, "feed_forward_proj", json_string(whole));
    json_object_set_new(root, "dense_act_fn", json_string(name));
    json_object_set_new(root, "is_gated_act", json_boolean(config->gated));
}

static void shape_t5(ModelConfig *config, const ModelConfig *was)
{
    config->position = POSITION_RELATIVE_BIAS;
    config->gated = was->gated;
    config->scale_logits = was->scale_logits;
    if ((was->n_dec == 0) == (was->classifier == LABELS_TOKENS) && was->classifier != LABELS_CHOICE)
        config->classifier = was->classifier;
    config->classifier_dense = config->classifier == LABELS_SEQUENCE || config->classifier == LABELS_VALUE;
}

static void shape_umt5(ModelConfig *config, const ModelConfig *was)
{
    shape_t5(config, was);
    config->rel_per_block = true;
}

static bool read_shared(const json_t *root, const char *default_proj, ModelConfig *config, GError **error)
{
    const HfKey decoder = HF_INT("num_decoder_layers", n_dec, (double)config->n_enc, 1, 1000);
    return hf_key_read(root, &decoder, config, error) && read_activation(root, default_proj, config, error);
}

/* transformers 5 writes tie_word_embeddings true for every T5 and umT5: the tensors decide whether logits are tied. */
static bool read_scaling(const json_t *root, ModelConfig *config, GError **error)
{
    config->scale_logits = true;
    return hf_flag_read(root, "tie_word_embeddings", &config->scale_logits, error) &&
           hf_flag_read(root, "scale_decoder_outputs", &config->scale_logits, error);
}

static bool read_t5(const json_t *root, ModelConfig *config, GError **error)
{
    return read_scaling(root, config, error) && read_shared(root, "relu", config, error);
}

static bool read_umt5(const json_t *root, ModelConfig *config, GError **error)
{
    return read_scaling(root, config, error) && read_shared(root, "gated-gelu", config, error);
}

/* transformers 4 scales the logits of a tied mT5, transformers 5 never. */
static bool read_mt5(const json_t *root, ModelConfig *config, GError **error)
{
    const char *version = json_string_value(json_object_get(root, "transformers_version"));
    bool tied = false;
    if (!hf_flag_read(root, "tie_word_embeddings", &tied, error))
        return false;
    config->scale_logits = tied && !(version && g_ascii_strtoll(version, NULL, 10) >= 5);
    return read_shared(root, "gated-gelu", config, error);
}

/* A file without a decoder is an encoder-only model, which has no logits of its own. */
static void infer_t5(GHashTable *tensors, ModelConfig *config)
{
    if (g_hash_table_contains(tensors, "decoder.final_layer_norm.weight") ||
        g_hash_table_contains(tensors, CLASSIFIER_PREFIX "decoder.final_layer_norm.weight"))
        return;
    config->n_dec = 0;
    config->scale_logits = false;
}

/* Neither transformers 4 nor the published models scale the logits of an untied mT5 or umT5. Those versions of
 * transformers that write scale_decoder_outputs for a umT5 tie every umT5. */
static void infer_mt5(GHashTable *tensors, ModelConfig *config)
{
    config->scale_logits = config->scale_logits && config->tie_embeddings;
    infer_t5(tensors, config);
}

static void write_t5(json_t *root, const ModelConfig *config, const TokenRoles *roles)
{
    if (config->n_dec == 0)
        json_object_set_new(root, "architectures",
                            json_pack("[s]", config->rel_per_block ? "UMT5EncoderModel" : "T5EncoderModel"));
    json_object_set_new(root, "is_encoder_decoder", json_boolean(config->n_dec > 0));
    json_object_set_new(root, "initializer_factor", json_real(1));
    json_object_set_new(root, "classifier_dropout", json_real(0));
    json_object_set_new(root, "num_decoder_layers", json_integer(config->n_dec ? config->n_dec : config->n_enc));
    write_activation(root, config);
    /* transformers 4 reads tying and scaling from the first flag, transformers 5 scaling from the second. */
    json_object_set_new(root, "tie_word_embeddings", json_boolean(config->scale_logits));
    json_object_set_new(root, "scale_decoder_outputs", json_boolean(config->scale_logits));
    hf_id_write(root, "pad_token_id", roles->pad);
    hf_eos_write(root, roles);
    hf_id_write(root, "decoder_start_token_id", roles->decoder_start);
}

static bool check_t5(const ModelConfig *config, GError **error)
{
    return !config->scale_logits || config->tie_embeddings ||
           fail_user(
               error,
               "transformers scales the logits of a T5 (model.scale_logits) only with tied embeddings "
               "(model.tie_embeddings), so transformers 4 has no base for these adapters: --to hf writes the model "
               "with its scale in lm_head.weight");
}

#define ARCHITECTURE(type, id, class, table, shaper, reader, inferrer, checker)                                        \
    {                                                                                                                  \
        .model_type = type, .stored = id, .names = { class, "", body, heads, ignored },                                \
        .classifier_prefix = CLASSIFIER_PREFIX, .keys = keys, .more_keys = table, .aliases = aliases,                  \
        .family = FAMILY_T5, .own_head_dim = true, .default_ids = { 0, -1, 1 }, .shape = shaper, .read = reader,       \
        .write = write_t5, .infer = inferrer, .check = checker                                                         \
    }

const HfArchitecture hf_t5 =
    ARCHITECTURE("t5", ARCHITECTURE_T5, "T5ForConditionalGeneration", t5_keys, shape_t5, read_t5, infer_t5, check_t5);
const HfArchitecture hf_mt5 = ARCHITECTURE("mt5", ARCHITECTURE_T5, "MT5ForConditionalGeneration", mt5_keys, shape_t5,
                                           read_mt5, infer_mt5, check_t5);
const HfArchitecture hf_umt5 = ARCHITECTURE("umt5", ARCHITECTURE_UMT5, "UMT5ForConditionalGeneration", mt5_keys,
                                            shape_umt5, read_umt5, infer_mt5, check_t5);
