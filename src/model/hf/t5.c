/* T5ForConditionalGeneration, T5EncoderModel without its decoder, and its multilingual sisters MT5 and UMT5.
 */
#include "model/hf/architecture.h"

#include <string.h>

static const HfName names[] = {
    HF_SAME("shared", "shared.weight"),
    HF_SAME("lm_head", "lm_head.weight"),
    HF_SAME("encoder.relpos", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"),
    HF_SAME("encoder.#.self.relpos", "encoder.block.#.layer.0.SelfAttention.relative_attention_bias.weight"),
    HF_SAME("encoder.#.self.norm", "encoder.block.#.layer.0.layer_norm.weight"),
    HF_SAME("encoder.#.self.q", "encoder.block.#.layer.0.SelfAttention.q.weight"),
    HF_SAME("encoder.#.self.k", "encoder.block.#.layer.0.SelfAttention.k.weight"),
    HF_SAME("encoder.#.self.v", "encoder.block.#.layer.0.SelfAttention.v.weight"),
    HF_SAME("encoder.#.self.o", "encoder.block.#.layer.0.SelfAttention.o.weight"),
    HF_SAME("encoder.#.mlp.norm", "encoder.block.#.layer.1.layer_norm.weight"),
    HF_SAME("encoder.#.mlp.wi", "encoder.block.#.layer.1.DenseReluDense.wi.weight"),
    HF_SAME("encoder.#.mlp.wi_0", "encoder.block.#.layer.1.DenseReluDense.wi_0.weight"),
    HF_SAME("encoder.#.mlp.wi_1", "encoder.block.#.layer.1.DenseReluDense.wi_1.weight"),
    HF_SAME("encoder.#.mlp.wo", "encoder.block.#.layer.1.DenseReluDense.wo.weight"),
    HF_SAME("encoder.final_norm", "encoder.final_layer_norm.weight"),
    HF_SAME("decoder.relpos", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"),
    HF_SAME("decoder.#.self.relpos", "decoder.block.#.layer.0.SelfAttention.relative_attention_bias.weight"),
    HF_SAME("decoder.#.self.norm", "decoder.block.#.layer.0.layer_norm.weight"),
    HF_SAME("decoder.#.self.q", "decoder.block.#.layer.0.SelfAttention.q.weight"),
    HF_SAME("decoder.#.self.k", "decoder.block.#.layer.0.SelfAttention.k.weight"),
    HF_SAME("decoder.#.self.v", "decoder.block.#.layer.0.SelfAttention.v.weight"),
    HF_SAME("decoder.#.self.o", "decoder.block.#.layer.0.SelfAttention.o.weight"),
    HF_SAME("decoder.#.cross.norm", "decoder.block.#.layer.1.layer_norm.weight"),
    HF_SAME("decoder.#.cross.q", "decoder.block.#.layer.1.EncDecAttention.q.weight"),
    HF_SAME("decoder.#.cross.k", "decoder.block.#.layer.1.EncDecAttention.k.weight"),
    HF_SAME("decoder.#.cross.v", "decoder.block.#.layer.1.EncDecAttention.v.weight"),
    HF_SAME("decoder.#.cross.o", "decoder.block.#.layer.1.EncDecAttention.o.weight"),
    HF_SAME("decoder.#.mlp.norm", "decoder.block.#.layer.2.layer_norm.weight"),
    HF_SAME("decoder.#.mlp.wi", "decoder.block.#.layer.2.DenseReluDense.wi.weight"),
    HF_SAME("decoder.#.mlp.wi_0", "decoder.block.#.layer.2.DenseReluDense.wi_0.weight"),
    HF_SAME("decoder.#.mlp.wi_1", "decoder.block.#.layer.2.DenseReluDense.wi_1.weight"),
    HF_SAME("decoder.#.mlp.wo", "decoder.block.#.layer.2.DenseReluDense.wo.weight"),
    HF_SAME("decoder.final_norm", "decoder.final_layer_norm.weight"),
};

/* Copies of the embedding, and a table that no layer reads. */
static const char *const ignored[] = {
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
    "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",
    NULL,
};

/* What transformers takes for absent keys, first of a T5, then of an mT5. */
#define INT_KEYS(vocab_size, d_ff, num_heads, num_layers)                                                              \
    {                                                                                                                  \
        { "vocab_size", offsetof(ModelConfig, vocab), vocab_size, 1, 1 << 24 },                                        \
            { "d_model", offsetof(ModelConfig, width), 512, 1, 1 << 16 },                                              \
            { "d_ff", offsetof(ModelConfig, ffn), d_ff, 1, 1 << 20 },                                                  \
            { "d_kv", offsetof(ModelConfig, head_dim), 64, 1, 1 << 12 },                                               \
            { "num_heads", offsetof(ModelConfig, heads), num_heads, 1, 1 << 12 },                                      \
            { "num_layers", offsetof(ModelConfig, n_enc), num_layers, 1, 1000 },                                       \
            { "relative_attention_num_buckets", offsetof(ModelConfig, rel_buckets), 32, 4, 1 << 12 },                  \
            { "relative_attention_max_distance", offsetof(ModelConfig, rel_max_distance), 128, 2, 1 << 20 },           \
    }

static const HfIntKey t5_ints[] = INT_KEYS(32128, 2048, 8, 6);
static const HfIntKey mt5_ints[] = INT_KEYS(250112, 1024, 6, 8);

static const HfRealKey reals[] = {
    { "dropout_rate", offsetof(ModelConfig, dropout), 0.1, 0, 0.99 },
    { "layer_norm_epsilon", offsetof(ModelConfig, norm_eps), 1e-6, 0, 1 },
};

#define GATED "gated-"

/* feed_forward_proj is an activation, "gated-" before it where there is a gate; "gated-gelu" means gelu_new. What
 * transformers derives from it goes before where it is there too: dense_act_fn and is_gated_act. */
static bool read_activation(const json_t *root, const char *standard, ModelConfig *config, GError **error)
{
    const json_t *value = json_object_get(root, "feed_forward_proj");
    const char *whole = value ? json_string_value(value) : standard;
    bool gated = whole && g_str_has_prefix(whole, GATED);
    const char *name = gated ? whole + strlen(GATED) : whole;
    if (g_strcmp0(whole, GATED "gelu") == 0)
        name = "gelu_new";
    if (hf_activation_of(name) < 0)
        return fail_user(error, "feed_forward_proj is \"%s\", want relu, gelu, silu or tanh, or such as gated-gelu",
                         whole ? whole : "not a string");
    return hf_activation_read(root, "dense_act_fn", name, &config->activation, error) &&
           hf_flag_read(root, "is_gated_act", gated, &config->gated, error);
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

static void shape_t5(ModelConfig *config)
{
    bool gated = config->gated, scale_logits = config->scale_logits;
    hf_shape_plain(config, config->n_dec > 0 ? FAMILY_T5 : FAMILY_BERT);
    config->position = POSITION_RELATIVE_BIAS;
    config->gated = gated;
    config->scale_logits = scale_logits;
}

static void shape_umt5(ModelConfig *config)
{
    shape_t5(config);
    config->rel_per_block = true;
}

/* What both have: blocks of the decoder, the feed-forward network. */
static bool read_shared(const json_t *root, const char *feed_forward_proj, ModelConfig *config, GError **error)
{
    const HfIntKey decoder = { "num_decoder_layers", offsetof(ModelConfig, n_dec), config->n_enc, 1, 1000 };
    return hf_int_read(root, &decoder, &config->n_dec, error) &&
           read_activation(root, feed_forward_proj, config, error);
}

static bool read_t5(const json_t *root, ModelConfig *config, GError **error)
{
    /* transformers 5 always says that embeddings are tied, so the tensors decide that. */
    bool tied;
    return hf_flag_read(root, "tie_word_embeddings", true, &tied, error) &&
           hf_flag_read(root, "scale_decoder_outputs", tied, &config->scale_logits, error) &&
           read_shared(root, "relu", config, error);
}

/* transformers 4 scales the logits of an mT5 that it ties, transformers 5 those of none. */
static bool read_mt5(const json_t *root, ModelConfig *config, GError **error)
{
    const char *version = json_string_value(json_object_get(root, "transformers_version"));
    bool tied;
    if (!hf_flag_read(root, "tie_word_embeddings", false, &tied, error))
        return false;
    config->scale_logits = tied && !(version && g_ascii_strtoll(version, NULL, 10) >= 5);
    return read_shared(root, "gated-gelu", config, error);
}

/* Without a decoder it is an encoder alone, which has no logits of its own. */
static void look_t5(GHashTable *tensors, ModelConfig *config)
{
    if (g_hash_table_contains(tensors, "decoder.final_layer_norm.weight"))
        return;
    config->family = FAMILY_BERT;
    config->n_dec = 0;
    config->scale_logits = false;
}

/* An mT5 with a head of its own is scaled by neither. */
static void look_mt5(GHashTable *tensors, ModelConfig *config)
{
    config->scale_logits = config->scale_logits && config->tie_embeddings;
    look_t5(tensors, config);
}

/* Scaled are the logits of those umT5 whose embeddings are tied. transformers 5 scales those of the others too, which
 * transformers 4 and the published models do not. */
static void look_umt5(GHashTable *tensors, ModelConfig *config)
{
    config->scale_logits = config->tie_embeddings;
    look_t5(tensors, config);
}

static void write_t5(json_t *root, const ModelConfig *config, HfIds ids)
{
    if (config->n_dec == 0)
        json_object_set_new(root, "architectures",
                            json_pack("[s]", config->rel_per_block ? "UMT5EncoderModel" : "T5EncoderModel"));
    json_object_set_new(root, "is_encoder_decoder", json_boolean(config->n_dec > 0));
    json_object_set_new(root, "initializer_factor", json_real(1));
    json_object_set_new(root, "classifier_dropout", json_real(0));
    json_object_set_new(root, "num_decoder_layers", json_integer(config->n_dec ? config->n_dec : config->n_enc));
    write_activation(root, config);
    /* transformers 4 reads tying and scaling off the one flag, transformers 5 scaling off the other. */
    json_object_set_new(root, "tie_word_embeddings", json_boolean(config->scale_logits));
    json_object_set_new(root, "scale_decoder_outputs", json_boolean(config->scale_logits));
    hf_id_write(root, "pad_token_id", ids.pad);
    hf_id_write_always(root, "eos_token_id", ids.eos);
    hf_id_write(root, "decoder_start_token_id", ids.decoder_start);
}

static void drop_heads(ModelConfig *config)
{
    config->pooler = config->sentence_head = false;
    if (config->n_dec == 0)
        hf_drop_vocabulary_head(config);
}

static bool check_t5(const ModelConfig *config, GError **error)
{
    return !config->scale_logits || config->tie_embeddings ||
           fail_user(error, "Hugging Face's T5 has no scaled logits (model.scale_logits) without tied embeddings "
                            "(model.tie_embeddings)");
}

static bool check_umt5(const ModelConfig *config, GError **error)
{
    if (config->n_dec > 0 && config->tie_embeddings && !config->scale_logits)
        return fail_user(error, "Hugging Face's UMT5 scales the logits of tied embeddings (model.scale_logits)");
    return check_t5(config, error);
}

#define ARCHITECTURE(type, class, int_keys, shaper, reader, looker, checker)                                           \
    {                                                                                                                  \
        .model_type = type, .class_name = class, .prefix = "", .names = names, .n_names = G_N_ELEMENTS(names),         \
        .ignored = ignored, .ints = int_keys, .n_ints = G_N_ELEMENTS(int_keys), .reals = reals,                        \
        .n_reals = G_N_ELEMENTS(reals), .shape = shaper, .read = reader, .write = write_t5, .look = looker,            \
        .drop_heads = drop_heads, .check = checker                                                                     \
    }

const HfArchitecture hf_t5 =
    ARCHITECTURE("t5", "T5ForConditionalGeneration", t5_ints, shape_t5, read_t5, look_t5, check_t5);
const HfArchitecture hf_mt5 =
    ARCHITECTURE("mt5", "MT5ForConditionalGeneration", mt5_ints, shape_t5, read_mt5, look_mt5, check_t5);
const HfArchitecture hf_umt5 =
    ARCHITECTURE("umt5", "UMT5ForConditionalGeneration", mt5_ints, shape_umt5, read_mt5, look_umt5, check_umt5);
