#include "model/hf/architecture.h"

#include "base/check.h"
#include "base/file.h"
#include "base/json_line.h"
#include "base/text.h"

#define CONFIG_LIMIT (1 << 20)

json_t *hf_read_object(const char *path, GError **error)
{
    size_t bytes;
    g_autofree char *text = io_read_regular(path, CONFIG_LIMIT, &bytes, error);
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

bool hf_write_object(const char *folder, const char *name, json_t *root, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    json_auto_t *own = root;
    return json_write_file(path, own, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(15), "\n", error);
}

static bool is_absent(const json_t *value)
{
    return value == NULL || json_is_null(value);
}

static bool read_int(const json_t *value, const HfKey *key, int64_t *out, GError **error)
{
    *out = (int64_t)key->default_value;
    if (is_absent(value))
        return true;
    if (!json_is_integer(value))
        return fail_user(error, "%s is not a whole number", key->key);
    *out = json_integer_value(value);
    return ((double)*out >= key->min && (double)*out <= key->max) ||
           fail_user(error, "%s is %" G_GINT64_FORMAT ", want %.0f to %.0f", key->key, *out, key->min, key->max);
}

static bool read_real(const json_t *root, const char *key, double min, double max, double *out, GError **error)
{
    const json_t *value = json_object_get(root, key);
    if (is_absent(value))
        return true;
    if (!json_is_number(value))
        return fail_user(error, "%s is not a number", key);
    *out = json_number_value(value);
    return (*out >= min && *out <= max) || fail_user(error, "%s is %g, want %g to %g", key, *out, min, max);
}

bool hf_flag_read(const json_t *root, const char *key, bool *out, GError **error)
{
    const json_t *value = json_object_get(root, key);
    if (value)
        *out = json_is_true(value);
    return is_absent(value) || json_is_boolean(value) || fail_user(error, "%s is neither true nor false", key);
}

static const struct {
    const char *name;
    Activation activation;
} activations[] = {
    { "gelu", ACT_GELU_ERF },       { "gelu_new", ACT_GELU_TANH }, { "gelu_pytorch_tanh", ACT_GELU_TANH },
    { "gelu_fast", ACT_GELU_TANH }, { "relu", ACT_RELU },          { "silu", ACT_SILU },
    { "swish", ACT_SILU },          { "tanh", ACT_TANH },          { "relu2", ACT_RELU2 },
};

int hf_activation_of(const char *name)
{
    for (size_t i = 0; i < G_N_ELEMENTS(activations); i++)
        if (g_strcmp0(activations[i].name, name) == 0)
            return (int)activations[i].activation;
    return -1;
}

const char *hf_activation_name(int activation)
{
    for (size_t i = 0; i < G_N_ELEMENTS(activations); i++)
        if ((int)activations[i].activation == activation)
            return activations[i].name;
    CHECK(false, "activation %d", activation);
}

bool hf_fail_activation(const char *key, const char *name, const char *more, GError **error)
{
    const char *names[G_N_ELEMENTS(activations) + 1] = { NULL };
    for (size_t i = 0; i < G_N_ELEMENTS(activations); i++)
        names[i] = activations[i].name;
    g_autofree char *known = text_choice(names);
    return fail_user(error, "%s is \"%s\", want %s%s", key, name ? name : "not a string", known, more);
}

static bool read_activation(const json_t *value, const HfKey *key, int *out, GError **error)
{
    const char *name = value ? json_string_value(value) : key->text;
    *out = hf_activation_of(name);
    return *out >= 0 || hf_fail_activation(key->key, name, "", error);
}

static json_t *fixed_value(const HfKey *key)
{
    json_t *value = json_loads(key->text, JSON_DECODE_ANY, NULL);
    CHECK(value, "%s: %s is not JSON", key->key, key->text);
    return value;
}

static bool check_fixed(const json_t *value, const HfKey *key, GError **error)
{
    json_auto_t *wanted = fixed_value(key);
    if (value == NULL || json_equal(value, wanted) || (json_is_null(value) && json_is_false(wanted)))
        return true;
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    fail_user(error, "%s is %s: loam reads %s only", key->key, text, key->text);
    free(text);
    return false;
}

bool hf_aliases_take(json_t *root, const HfAlias *aliases, GError **error)
{
    for (; aliases && aliases->alias; aliases++) {
        json_t *value = json_object_get(root, aliases->alias), *other = json_object_get(root, aliases->key);
        if (value && other && !json_equal(value, other))
            return fail_user(error, "%s differs from %s, which is the same setting", aliases->alias, aliases->key);
        if (value && !other)
            json_object_set(root, aliases->key, value);
    }
    return true;
}

bool hf_key_read(const json_t *root, const HfKey *key, ModelConfig *config, GError **error)
{
    const json_t *value = json_object_get(root, key->key);
    switch (key->type) {
    case HF_KEY_INT:
        return read_int(value, key, &G_STRUCT_MEMBER(int64_t, config, key->field), error);
    case HF_KEY_REAL:
        G_STRUCT_MEMBER(double, config, key->field) = key->default_value;
        return read_real(root, key->key, key->min, key->max, &G_STRUCT_MEMBER(double, config, key->field), error);
    case HF_KEY_FLAG:
        G_STRUCT_MEMBER(bool, config, key->field) = key->default_value > 0;
        return hf_flag_read(root, key->key, &G_STRUCT_MEMBER(bool, config, key->field), error);
    case HF_KEY_ACTIVATION:
        return read_activation(value, key, &G_STRUCT_MEMBER(int, config, key->field), error);
    case HF_KEY_FIXED:
        return check_fixed(value, key, error);
    }
    CHECK(false, "key type %d", (int)key->type);
}

bool hf_keys_read(const json_t *root, const HfKey *keys, ModelConfig *config, GError **error)
{
    for (; keys && keys->key; keys++)
        if (!hf_key_read(root, keys, config, error))
            return false;
    return true;
}

static json_t *key_value(const HfKey *key, const ModelConfig *config)
{
    switch (key->type) {
    case HF_KEY_INT:
        return json_integer(G_STRUCT_MEMBER(int64_t, config, key->field));
    case HF_KEY_REAL:
        return json_real(G_STRUCT_MEMBER(double, config, key->field));
    case HF_KEY_FLAG:
        return json_boolean(G_STRUCT_MEMBER(bool, config, key->field));
    case HF_KEY_ACTIVATION:
        return json_string(hf_activation_name(G_STRUCT_MEMBER(int, config, key->field)));
    case HF_KEY_FIXED:
        return fixed_value(key);
    }
    CHECK(false, "key type %d", (int)key->type);
}

void hf_keys_write(json_t *root, const HfKey *keys, const ModelConfig *config)
{
    for (; keys && keys->key; keys++)
        json_object_set_new(root, keys->key, key_value(keys, config));
}

void hf_id_write(json_t *root, const char *key, int id)
{
    if (id >= 0)
        json_object_set_new(root, key, json_integer(id));
}

void hf_eos_write(json_t *root, const TokenRoles *roles)
{
    const TokenList *eos = &roles->eos;
    json_t *one = eos->n == 1 ? json_integer(eos->ids[0]) : json_null();
    json_object_set_new(root, "eos_token_id", eos->n > 1 ? json_ids(eos->ids, eos->n) : one);
}

void hf_ends_write(json_t *root, const TokenRoles *roles)
{
    json_object_set_new(root, "bos_token_id", roles->bos >= 0 ? json_integer(roles->bos) : json_null());
    hf_eos_write(root, roles);
}

void hf_warn_unused_rate(const json_t *root, const char *key, double used)
{
    const json_t *value = json_object_get(root, key);
    double rate = json_is_number(value) ? json_number_value(value) : used;
    if (rate > used || rate < used)
        log_warning("config.json has %s %g, which loam does not support: training uses %g", key, rate, used);
}

/* ---- rotary positions ---- */

#define PARTIAL "partial_rotary_factor"

/* Fails unless the scaling of rotary positions has no effect: it is absent, "default", or linear with factor 1. The key
 * is "rope_type"; before transformers 4.43, "type". */
static bool check_scaling(const json_t *scaling, const char *key, GError **error)
{
    if (scaling == NULL || json_is_null(scaling))
        return true;
    const json_t *type = json_object_get(scaling, "rope_type"), *factor = json_object_get(scaling, "factor");
    const char *name = json_string_value(type ? type : json_object_get(scaling, "type"));
    bool by_one = json_is_number(factor) && json_number_value(factor) >= 1 && json_number_value(factor) <= 1;
    bool plain =
        name == NULL ? factor == NULL : strcmp(name, "default") == 0 || (strcmp(name, "linear") == 0 && by_one);
    if (json_is_object(scaling) && plain)
        return true;
    char *text = json_dumps(scaling, JSON_ENCODE_ANY | JSON_COMPACT);
    fail_user(error, "%s is %s: loam reads null and \"rope_type\": \"default\" only", key, text);
    free(text);
    return false;
}

/* Fails if only a part of each attention head has rotary positions. transformers reads the factor of the model if its
 * rotary parameters, `own`, have none. */
static bool check_whole(const json_t *root, const json_t *own, GError **error)
{
    const json_t *inner = json_object_get(own, PARTIAL),
                 *part = is_absent(inner) ? json_object_get(root, PARTIAL) : inner;
    if (!is_absent(part) && !json_is_number(part))
        return fail_user(error, PARTIAL " is not a number");
    const double factor = is_absent(part) ? 1 : json_number_value(part);
    return !(factor < 1 || factor > 1) || fail_user(error, PARTIAL " is %g: loam reads 1 only", factor);
}

bool hf_rotary_read(const json_t *root, const char *layers, const char *key, double default_base, double *base,
                    GError **error)
{
    const json_t *parameters = json_object_get(root, "rope_parameters"),
                 *scaling = json_object_get(root, "rope_scaling");
    const json_t *of_layers = layers ? json_object_get(parameters, layers) : NULL;
    const json_t *own = json_is_object(scaling) ? scaling : of_layers ? of_layers : parameters;
    double outer = default_base; /* rope_theta may be outside or inside rope_parameters: transformers 4 reads the outer
                                    one, transformers 5 the inner one */
    if (!check_scaling(scaling, "rope_scaling", error) || !check_scaling(own, "rope_parameters", error) ||
        !check_whole(layers ? NULL : root, own, error) || !read_real(root, key, 1, 1e12, &outer, error))
        return false;
    *base = outer;
    if (!read_real(own, "rope_theta", 1, 1e12, base, error))
        return false;
    bool differ = *base > outer || *base < outer;
    return !differ || !json_is_number(json_object_get(root, key)) ||
           fail_user(error, "%s is %g, but rope_theta of its rotary parameters is %g", key, outer, *base);
}

json_t *hf_rotary_json(double base)
{
    return json_pack("{s:f, s:s}", "rope_theta", base, "rope_type", "default");
}

/* ---- what architectures have in common ---- */

const TensorName hf_lm_head[] = { TENSOR("lm_head", "lm_head.weight"), { 0 } };

/* Options that no architecture fixes: sizes, initial weights, and settings of parts that another option adds. */
/* clang-format off */
static const char *const kept[] = {
    "model.preset", "model.width", "model.ffn", "model.heads", "model.head_dim", "model.vocab", "model.vocab_multiple",
    "model.activation", "model.norm_eps", "model.max_positions", "model.position_zero", "model.rotary_base",
    "model.rel_buckets", "model.rel_max_distance", "model.qk_layer_scaling", "model.tie_embeddings",
    "model.head_activation", "model.labels", "model.inner_dropout", "model.init", "model.init_std",
    "model.init_scale_outputs", "model.init_zero_outputs", "model.mup", "model.sparse_block", "model.sparse_local",
    "model.sparse_window", "model.sparse_n_global", "model.sparse_global", "model.sparse_n_random",
    "model.sparse_horizontal", "model.sparse_rotations", "model.sparse_per_head", "model.sparse_seed", "lora.rank",
    "lora.alpha", "lora.targets", NULL,
};
/* clang-format on */

void hf_fit(const HfArchitecture *arch, ModelConfig *config)
{
    const ModelConfig was = *config;
    ModelConfig plain;
    bool no_decoder = arch->family == FAMILY_BERT || (arch->family == FAMILY_T5 && was.n_dec == 0);

    model_config_defaults(&plain);
    for (const OptionRow *row = model_options; row < model_options + n_model_options; row++)
        if (row->class == OPT_IDENTITY && !g_strv_contains(kept, row->name))
            options_copy_value(&model_table, config, &plain, row);
    config->family = (int)(no_decoder ? FAMILY_BERT : arch->family);
    config->n_enc = arch->family == FAMILY_GPT ? 0 : was.n_enc;
    config->n_dec = no_decoder ? 0 : was.n_dec;
    arch->shape(config, &was);
    if (!arch->own_head_dim)
        config->head_dim = config->width / config->heads;
}

TensorNames hf_names(const HfArchitecture *arch, const ModelConfig *config)
{
    TensorNames names = arch->names;
    bool plain = arch->family == FAMILY_T5 && config->classifier == LABELS_SPAN; /* T5ForQuestionAnswering */
    if (config->classifier != LABELS_NONE && arch->classifier_prefix && !plain)
        names.prefix = arch->classifier_prefix;
    return names;
}
