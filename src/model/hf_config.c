#include "model/hf_config.h"

#include "base/file.h"
#include "base/log.h"

#include <jansson.h>
#include <string.h>

#define CONFIG_LIMIT (1 << 20)

/* Keys that hold a number of ModelConfig; `standard` is what transformers takes where the key is absent. */
typedef struct IntKey {
    const char *key;
    size_t field; /* of an int64_t */
    int64_t standard, min, max;
} IntKey;

static const IntKey int_keys[] = {
    { "vocab_size", offsetof(ModelConfig, vocab), 32128, 1, 1 << 24 },
    { "d_model", offsetof(ModelConfig, width), 512, 1, 1 << 16 },
    { "d_ff", offsetof(ModelConfig, ffn), 2048, 1, 1 << 20 },
    { "d_kv", offsetof(ModelConfig, head_dim), 64, 1, 1 << 12 },
    { "num_heads", offsetof(ModelConfig, heads), 8, 1, 1 << 12 },
    { "num_layers", offsetof(ModelConfig, n_enc), 6, 1, 1000 },
    { "relative_attention_num_buckets", offsetof(ModelConfig, rel_buckets), 32, 4, 1 << 12 },
    { "relative_attention_max_distance", offsetof(ModelConfig, rel_max_distance), 128, 2, 1 << 20 },
};

typedef struct RealKey {
    const char *key;
    size_t field; /* of a double */
    double standard, min, max;
} RealKey;

static const RealKey real_keys[] = {
    { "dropout_rate", offsetof(ModelConfig, dropout), 0.1, 0, 0.99 },
    { "layer_norm_epsilon", offsetof(ModelConfig, norm_eps), 1e-6, 0, 1 },
};

/* What feed_forward_proj means, and the dense_act_fn that transformers derives from it. */
typedef struct ActivationName {
    const char *feed_forward_proj, *dense_act_fn;
    Activation activation;
    bool gated;
} ActivationName;

static const ActivationName activations[] = {
    { "relu", "relu", ACT_RELU, false },
    { "gated-gelu", "gelu_new", ACT_GELU_TANH, true },
};

static bool read_int(const json_t *root, const IntKey *row, int64_t *out, GError **error)
{
    const json_t *value = json_object_get(root, row->key);
    *out = row->standard;
    if (value == NULL || json_is_null(value))
        return true;
    if (!json_is_integer(value))
        return fail_user(error, "%s is not a whole number", row->key);
    *out = json_integer_value(value);
    if (*out < row->min || *out > row->max)
        return fail_user(error, "%s is %" G_GINT64_FORMAT ", want %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, row->key,
                         *out, row->min, row->max);
    return true;
}

static bool read_real(const json_t *root, const RealKey *row, double *out, GError **error)
{
    const json_t *value = json_object_get(root, row->key);
    *out = row->standard;
    if (value == NULL || json_is_null(value))
        return true;
    if (!json_is_number(value))
        return fail_user(error, "%s is not a number", row->key);
    *out = json_number_value(value);
    if (!(*out >= row->min && *out <= row->max))
        return fail_user(error, "%s is %g, want %g to %g", row->key, *out, row->min, row->max);
    return true;
}

static bool read_numbers(const json_t *root, ModelConfig *config, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(int_keys); i++)
        if (!read_int(root, &int_keys[i], &G_STRUCT_MEMBER(int64_t, config, int_keys[i].field), error))
            return false;
    for (size_t i = 0; i < G_N_ELEMENTS(real_keys); i++)
        if (!read_real(root, &real_keys[i], &G_STRUCT_MEMBER(double, config, real_keys[i].field), error))
            return false;
    IntKey decoder = { "num_decoder_layers", offsetof(ModelConfig, n_dec), config->n_enc, 1, 1000 };
    return read_int(root, &decoder, &config->n_dec, error);
}

static bool read_activation(const json_t *root, ModelConfig *config, GError **error)
{
    const json_t *value = json_object_get(root, "feed_forward_proj");
    const char *name = value ? json_string_value(value) : "relu";
    for (size_t i = 0; i < G_N_ELEMENTS(activations); i++) {
        const ActivationName *row = &activations[i];
        if (g_strcmp0(name, row->feed_forward_proj) != 0)
            continue;
        const char *derived = json_string_value(json_object_get(root, "dense_act_fn"));
        if (derived && strcmp(derived, row->dense_act_fn) != 0)
            return fail_user(error, "dense_act_fn is \"%s\" with feed_forward_proj \"%s\", want \"%s\"", derived, name,
                             row->dense_act_fn);
        config->activation = (int)row->activation;
        config->gated = row->gated;
        return true;
    }
    return fail_user(error, "feed_forward_proj is \"%s\", want \"relu\" (T5 v1.0) or \"gated-gelu\" (T5 v1.1)",
                     name ? name : "not a string");
}

/* Where the key is absent the flag is true. */
static bool flag(const json_t *root, const char *key)
{
    return !json_is_false(json_object_get(root, key));
}

static bool read_root(const json_t *root, ModelConfig *config, GError **error)
{
    if (!json_is_object(root))
        return fail_user(error, "not a JSON object");
    const char *type = json_string_value(json_object_get(root, "model_type"));
    if (type == NULL)
        return fail_user(error, "model_type is missing, want \"t5\"");
    if (strcmp(type, "t5") != 0)
        return fail_user(error, "model_type is \"%s\": loam reads \"t5\" only", type);
    if (!read_numbers(root, config, error) || !read_activation(root, config, error))
        return false;
    config->tie_embeddings = flag(root, "tie_word_embeddings");
    config->scale_logits =
        json_object_get(root, "scale_decoder_outputs") ? flag(root, "scale_decoder_outputs") : config->tie_embeddings;
    const json_t *pad = json_object_get(root, "pad_token_id"), *start = json_object_get(root, "decoder_start_token_id");
    if (json_is_integer(pad) && json_is_integer(start) && !json_equal(pad, start))
        log_warning("config.json starts the decoder with token %lld; loam starts it with the padding token %lld",
                    (long long)json_integer_value(start), (long long)json_integer_value(pad));
    return true;
}

bool hf_config_read(const char *folder, ModelConfig *config, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "config.json", NULL);
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        return fail_user(error, "%s: no config.json: not a Hugging Face model folder", folder);
    size_t bytes;
    g_autofree char *text = io_read_file(path, CONFIG_LIMIT, &bytes, error);
    if (text == NULL)
        return false;
    json_error_t mistake;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &mistake);
    if (root == NULL)
        return fail_user(error, "%s:%d: %s", path, mistake.line, mistake.text);
    model_config_defaults(config);
    config->preset = (char *)"";
    bool done =
        (read_root(root, config, error) && model_config_check(config, error)) || fail_context(error, "%s", path);
    json_decref(root);
    return done;
}

static const ActivationName *activation_name(const ModelConfig *config)
{
    for (size_t i = 0; i < G_N_ELEMENTS(activations); i++)
        if ((int)activations[i].activation == config->activation && activations[i].gated == config->gated)
            return &activations[i];
    return NULL;
}

char *hf_config_text(const ModelConfig *config, int pad, int eos)
{
    const ActivationName *act = activation_name(config);
    json_t *root = json_pack("{s:[s], s:s, s:b, s:b, s:s, s:f, s:f}", "architectures", "T5ForConditionalGeneration",
                             "model_type", "t5", "is_encoder_decoder", 1, "use_cache", 1, "dtype", "float32",
                             "initializer_factor", 1.0, "classifier_dropout", 0.0);
    for (size_t i = 0; i < G_N_ELEMENTS(int_keys); i++)
        json_object_set_new(root, int_keys[i].key, json_integer(G_STRUCT_MEMBER(int64_t, config, int_keys[i].field)));
    for (size_t i = 0; i < G_N_ELEMENTS(real_keys); i++)
        json_object_set_new(root, real_keys[i].key, json_real(G_STRUCT_MEMBER(double, config, real_keys[i].field)));
    json_object_set_new(root, "num_decoder_layers", json_integer(config->n_dec));
    json_object_set_new(root, "feed_forward_proj", json_string(act->feed_forward_proj));
    json_object_set_new(root, "dense_act_fn", json_string(act->dense_act_fn));
    json_object_set_new(root, "is_gated_act", json_boolean(act->gated));
    /* transformers 4 reads tying and scaling off the one flag, transformers 5 scaling off the other. */
    json_object_set_new(root, "tie_word_embeddings", json_boolean(config->scale_logits));
    json_object_set_new(root, "scale_decoder_outputs", json_boolean(config->scale_logits));
    json_object_set_new(root, "pad_token_id", json_integer(pad));
    json_object_set_new(root, "eos_token_id", json_integer(eos));
    json_object_set_new(root, "decoder_start_token_id", json_integer(pad));
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(15));
    char *line = g_strconcat(text, "\n", NULL);
    free(text);
    json_decref(root);
    return line;
}
