#include "base/check.h"
#include "model/hf_kind.h"

bool hf_int_read(const json_t *root, const HfIntKey *row, int64_t *out, GError **error)
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

bool hf_real_read(const json_t *root, const HfRealKey *row, double *out, GError **error)
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

bool hf_flag(const json_t *root, const char *key, bool standard)
{
    const json_t *value = json_object_get(root, key);
    return json_is_boolean(value) ? json_is_true(value) : standard;
}

static json_t *fixed_value(const HfFixedKey *row)
{
    json_t *value = json_loads(row->json, JSON_DECODE_ANY, NULL);
    CHECK(value, "%s: %s is not JSON", row->key, row->json);
    return value;
}

static bool fixed_read(const json_t *root, const HfFixedKey *row, GError **error)
{
    const json_t *found = json_object_get(root, row->key);
    json_t *wanted = fixed_value(row);
    bool same = found == NULL || json_equal(found, wanted);
    json_decref(wanted);
    if (same)
        return true;
    char *text = json_dumps(found, JSON_ENCODE_ANY | JSON_COMPACT);
    fail_user(error, "%s is %s: loam reads %s only", row->key, text, row->json);
    free(text);
    return false;
}

bool hf_keys_read(const HfKind *kind, const json_t *root, ModelConfig *config, GError **error)
{
    for (size_t i = 0; i < kind->n_ints; i++)
        if (!hf_int_read(root, &kind->ints[i], &G_STRUCT_MEMBER(int64_t, config, kind->ints[i].field), error))
            return false;
    for (size_t i = 0; i < kind->n_reals; i++)
        if (!hf_real_read(root, &kind->reals[i], &G_STRUCT_MEMBER(double, config, kind->reals[i].field), error))
            return false;
    for (size_t i = 0; i < kind->n_fixed; i++)
        if (!fixed_read(root, &kind->fixed[i], error))
            return false;
    return true;
}

void hf_keys_write(const HfKind *kind, json_t *root, const ModelConfig *config)
{
    for (size_t i = 0; i < kind->n_ints; i++)
        json_object_set_new(root, kind->ints[i].key,
                            json_integer(G_STRUCT_MEMBER(int64_t, config, kind->ints[i].field)));
    for (size_t i = 0; i < kind->n_reals; i++)
        json_object_set_new(root, kind->reals[i].key, json_real(G_STRUCT_MEMBER(double, config, kind->reals[i].field)));
    for (size_t i = 0; i < kind->n_fixed; i++)
        json_object_set_new(root, kind->fixed[i].key, fixed_value(&kind->fixed[i]));
}

void hf_id_write(json_t *root, const char *key, int id)
{
    if (id >= 0)
        json_object_set_new(root, key, json_integer(id));
}

void hf_shape_plain(ModelConfig *config, Family family)
{
    config->family = (int)family;
    config->n_enc = family == FAMILY_GPT ? 0 : config->n_enc;
    config->n_dec = family == FAMILY_BERT ? 0 : config->n_dec;
    config->kv_heads = config->rotary_dim = config->segments = config->window = config->global_every = 0;
    config->sparsity.pattern = SPARSE_NONE;
    config->norm = NORM_RMS;
    config->position_offset = 0;
    config->rotary_local = 0;
    config->first_norm = config->final_norm = true;
    config->bias = config->norm_bias = config->norm_after = config->embed_norm = false;
    config->gated = config->scale_scores = config->scale_logits = config->scale_embedding = false;
    config->rel_rule = RELPOS_T5;
    config->memory_tokens = 0;
    config->rel_per_block = config->rel_encoder_only = config->context_queries = false;
    config->head_transform = config->head_bias = config->pooler = config->sentence_head = false;
}

void hf_drop_vocabulary_head(ModelConfig *config)
{
    config->head_transform = config->head_bias = false;
    config->tie_embeddings = true;
}

static const struct {
    const char *name;
    Activation activation;
} activations[] = {
    { "gelu", ACT_GELU_ERF },       { "gelu_new", ACT_GELU_TANH }, { "gelu_pytorch_tanh", ACT_GELU_TANH },
    { "gelu_fast", ACT_GELU_TANH }, { "relu", ACT_RELU },          { "silu", ACT_SILU },
    { "swish", ACT_SILU },          { "tanh", ACT_TANH },
};

bool hf_activation_read(const json_t *root, const char *key, const char *standard, int *activation, GError **error)
{
    const json_t *value = json_object_get(root, key);
    const char *name = value ? json_string_value(value) : standard;
    for (size_t i = 0; i < G_N_ELEMENTS(activations); i++)
        if (g_strcmp0(activations[i].name, name) == 0) {
            *activation = (int)activations[i].activation;
            return true;
        }
    return fail_user(error, "%s is \"%s\", want gelu, gelu_new, gelu_pytorch_tanh, relu, silu or tanh", key,
                     name ? name : "not a string");
}

const char *hf_activation_name(int activation)
{
    for (size_t i = 0; i < G_N_ELEMENTS(activations); i++)
        if ((int)activations[i].activation == activation)
            return activations[i].name;
    CHECK(false, "activation %d", activation);
}

void hf_fix_head(ModelConfig *config, Activation activation)
{
    if (config->head_transform && model_config_head_activation(config) != activation)
        config->head_activation = (int)activation == config->activation ? 0 : (int)activation + 1;
}

void hf_prefer(GHashTable *tensors, const char *name, const char *live)
{
    gpointer tensor = g_hash_table_lookup(tensors, live);
    if (tensor)
        g_hash_table_replace(tensors, g_strdup(name), tensor);
}

bool hf_rotary_read(const json_t *root, const char *layers, const char *key, double standard, double *base,
                    GError **error)
{
    const json_t *parameters = json_object_get(root, "rope_parameters");
    const json_t *own = layers ? json_object_get(parameters, layers) : parameters;
    const char *type = json_string_value(json_object_get(own, "rope_type"));
    HfRealKey row = { json_is_object(own) ? "rope_theta" : key, 0, standard, 1, 1e12 };
    if (type && g_strcmp0(type, "default") != 0)
        return fail_user(error, "rope_type is \"%s\": loam reads \"default\" only", type);
    return hf_real_read(json_is_object(own) ? own : root, &row, base, error);
}

json_t *hf_rotary_json(double base)
{
    return json_pack("{s:f, s:s}", "rope_theta", base, "rope_type", "default");
}

bool hf_check_heads(const ModelConfig *config, GError **error)
{
    return config->width % config->heads == 0 ||
           fail_user(error, "a width of %" G_GINT64_FORMAT " is not shared evenly by %" G_GINT64_FORMAT " heads",
                     config->width, config->heads);
}
