#include "base/check.h"
#include "base/file.h"
#include "base/log.h"
#include "model/hf/architecture.h"

#include <string.h>

#define CONFIG_LIMIT (1 << 20)

json_t *hf_read_object(const char *path, GError **error)
{
    size_t bytes;
    g_autofree char *text = io_read_file(path, CONFIG_LIMIT, &bytes, error);
    if (text == NULL)
        return NULL;
    json_error_t mistake;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &mistake);
    if (root == NULL) {
        fail_user(error, "%s:%d: %s", path, mistake.line, mistake.text);
    } else if (!json_is_object(root)) {
        fail_user(error, "%s: not a JSON object", path);
        g_clear_pointer(&root, json_decref);
    }
    return root;
}

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

bool hf_flag_read(const json_t *root, const char *key, bool standard, bool *out, GError **error)
{
    const json_t *value = json_object_get(root, key);
    *out = value ? json_is_true(value) : standard;
    return value == NULL || json_is_boolean(value) || json_is_null(value) ||
           fail_user(error, "%s is neither true nor false", key);
}

void hf_warn_unread_rate(const json_t *root, const char *key, double used)
{
    const json_t *value = json_object_get(root, key);
    double rate = json_is_number(value) ? json_number_value(value) : used;
    if (rate > used || rate < used)
        log_warning("config.json has %s %g, which training here goes without: it is %g", key, rate, used);
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
    bool same = found == NULL || json_equal(found, wanted) || (json_is_null(found) && json_is_false(wanted));
    json_decref(wanted);
    if (same)
        return true;
    char *text = json_dumps(found, JSON_ENCODE_ANY | JSON_COMPACT);
    fail_user(error, "%s is %s: loam reads %s only", row->key, text, row->json);
    free(text);
    return false;
}

bool hf_keys_read(const HfArchitecture *arch, const json_t *root, ModelConfig *config, GError **error)
{
    for (size_t i = 0; i < arch->n_ints; i++)
        if (!hf_int_read(root, &arch->ints[i], &G_STRUCT_MEMBER(int64_t, config, arch->ints[i].field), error))
            return false;
    for (size_t i = 0; i < arch->n_reals; i++)
        if (!hf_real_read(root, &arch->reals[i], &G_STRUCT_MEMBER(double, config, arch->reals[i].field), error))
            return false;
    for (size_t i = 0; i < arch->n_fixed; i++)
        if (!fixed_read(root, &arch->fixed[i], error))
            return false;
    return true;
}

void hf_keys_write(const HfArchitecture *arch, json_t *root, const ModelConfig *config)
{
    for (size_t i = 0; i < arch->n_ints; i++)
        json_object_set_new(root, arch->ints[i].key,
                            json_integer(G_STRUCT_MEMBER(int64_t, config, arch->ints[i].field)));
    for (size_t i = 0; i < arch->n_reals; i++)
        json_object_set_new(root, arch->reals[i].key, json_real(G_STRUCT_MEMBER(double, config, arch->reals[i].field)));
    for (size_t i = 0; i < arch->n_fixed; i++)
        json_object_set_new(root, arch->fixed[i].key, fixed_value(&arch->fixed[i]));
}

void hf_id_write(json_t *root, const char *key, int id)
{
    if (id >= 0)
        json_object_set_new(root, key, json_integer(id));
}

void hf_id_write_always(json_t *root, const char *key, int id)
{
    json_object_set_new(root, key, id >= 0 ? json_integer(id) : json_null());
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

int hf_activation_of(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(activations); i++)
        if (g_strcmp0(activations[i].name, name) == 0)
            return (int)activations[i].activation;
    return -1;
}

bool hf_activation_read(const json_t *root, const char *key, const char *standard, int *activation, GError **error)
{
    const json_t *value = json_object_get(root, key);
    const char *name = value ? json_string_value(value) : standard;
    *activation = hf_activation_of(name);
    return *activation >= 0 ||
           fail_user(error, "%s is \"%s\", want gelu, gelu_new, gelu_pytorch_tanh, relu, silu or tanh", key,
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

/* A scaling that changes nothing: none, "default", or a linear one by 1. transformers of before 4.43 says "type". */
static bool check_scaling(const json_t *scaling, const char *key, GError **error)
{
    if (scaling == NULL || json_is_null(scaling))
        return true;
    const json_t *type = json_object_get(scaling, "rope_type"), *factor = json_object_get(scaling, "factor");
    const char *name = json_string_value(type ? type : json_object_get(scaling, "type"));
    const json_t *part = json_object_get(scaling, "partial_rotary_factor");
    bool by_one = json_is_number(factor) && json_number_value(factor) >= 1 && json_number_value(factor) <= 1;
    bool whole = part == NULL || json_is_null(part) || (json_is_number(part) && json_number_value(part) >= 1);
    bool plain =
        name == NULL ? factor == NULL : strcmp(name, "default") == 0 || (strcmp(name, "linear") == 0 && by_one);
    if (json_is_object(scaling) && plain && whole)
        return true;
    char *text = json_dumps(scaling, JSON_ENCODE_ANY | JSON_COMPACT);
    fail_user(error, "%s is %s: loam reads null and \"rope_type\": \"default\" only", key, text);
    free(text);
    return false;
}

bool hf_rotary_read(const json_t *root, const char *layers, const char *key, double standard, double *base,
                    GError **error)
{
    const json_t *parameters = json_object_get(root, "rope_parameters"),
                 *scaling = json_object_get(root, "rope_scaling");
    const json_t *of_layers = layers ? json_object_get(parameters, layers) : NULL;
    const json_t *own = json_is_object(scaling) ? scaling : of_layers ? of_layers : parameters;
    HfRealKey row = { key, 0, standard, 1, 1e12 }, inner = { "rope_theta", 0, 0, 1, 1e12 };
    if (!check_scaling(scaling, "rope_scaling", error) || !check_scaling(own, "rope_parameters", error) ||
        !hf_real_read(root, &row, &inner.standard, error) || !hf_real_read(own, &inner, base, error))
        return false;
    /* transformers 4 takes the one, transformers 5 the other. */
    bool differ = *base > inner.standard || *base < inner.standard;
    return !differ || !json_is_number(json_object_get(root, key)) ||
           fail_user(error, "%s is %g, but rope_theta of its rotary parameters is %g", key, inner.standard, *base);
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
