#include "model/hf/config_json.h"

#include "base/file.h"
#include "base/hub.h"
#include "model/hf/hf.h"
#include "model/params/params.h"

#include <string.h>

#define TIED "tie_word_embeddings"

#define ADDRESS(NAME, name) &hf_##name,
static const HfArchitecture *const architectures[] = { ARCHITECTURES(ADDRESS) & hf_mt5 };

static const HfArchitecture *architecture_named(const char *model_type, GError **error)
{
    g_autoptr(GString) known = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(architectures); i++) {
        if (g_strcmp0(architectures[i]->model_type, model_type) == 0)
            return architectures[i];
        g_string_append_printf(known, "%s\"%s\"", i ? ", " : "", architectures[i]->model_type);
    }
    if (model_type == NULL)
        fail_user(error, "model_type is missing, want one of %s", known->str);
    else
        fail_user(error, "model_type is \"%s\": loam reads %s", model_type, known->str);
    return NULL;
}

/* Fails unless every number read from config.json, and every number derived from them, is in the range of its option.
 */
static bool check_hf_ranges(const ModelConfig *config, GError **error)
{
    for (int i = 0; i < n_model_options; i++) {
        const OptionRow *row = &model_options[i];
        double value = row->type == OPT_I64   ? (double)G_STRUCT_MEMBER(int64_t, config, row->offset)
                       : row->type == OPT_F64 ? G_STRUCT_MEMBER(double, config, row->offset)
                                              : row->min;
        if (row->min < row->max && (value < row->min || value > row->max))
            return fail_user(error, "it makes %s %g, want %g to %g", row->name, value, row->min, row->max);
    }
    return true;
}

/* Keys of any model that would change what it computes, with the only value that loam reads. */
static const HfKey refused[] = {
    HF_FIXED("sliding_window", "null"),
    HF_FIXED("attention_chunk_size", "null"),
    { 0 },
};

/* Fails if the tensors of the folder are codes of quantised weights, not weights. */
static bool check_plain_weights(const json_t *root, GError **error)
{
    static const char *const keys[] = { "quantization_config", "compression_config" };
    for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
        const json_t *value = json_object_get(root, keys[i]);
        const char *method = json_string_value(json_object_get(value, "quant_method"));
        if (value && !json_is_null(value))
            return fail_user(error, "%s: the weights are quantised (quant_method %s), and loam reads plain ones only",
                             keys[i], method ? method : "is missing");
    }
    return true;
}

static const HfArchitecture *read_root(json_t *root, ModelConfig *config, GError **error)
{
    const HfArchitecture *arch = architecture_named(json_string_value(json_object_get(root, "model_type")), error);
    model_config_defaults(config);
    config->preset = (char *)"";
    if (arch == NULL)
        return NULL;
    config->architecture = (int)arch->stored;
    config->init = arch->family == FAMILY_T5 ? INIT_SCHEME_T5 : INIT_SCHEME_NORMAL;
    config->init_scale_outputs = arch->init_scale_outputs;
    config->inner_dropout = arch->family == FAMILY_T5;
    config->tie_embeddings = true;
    if (!check_plain_weights(root, error) || !hf_keys_read(root, refused, config, error) ||
        !hf_aliases_take(root, arch->aliases, error) || !hf_keys_read(root, arch->keys, config, error) ||
        !hf_keys_read(root, arch->more_keys, config, error) || !arch->read(root, config, error) ||
        !hf_classifier_read(root, arch, config, error) || !hf_flag_read(root, TIED, &config->tie_embeddings, error))
        return NULL;
    if (!arch->own_head_dim && config->width % config->heads != 0)
        return fail_user(error, "a width of %" G_GINT64_FORMAT " is not shared evenly by %" G_GINT64_FORMAT " heads",
                         config->width, config->heads);
    hf_fit(arch, config);
    return check_hf_ranges(config, error) && model_config_check(config, error) ? arch : NULL;
}

const HfArchitecture *hf_config_read(const char *folder, ModelConfig *config, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "config.json", NULL);
    if (!g_file_test(folder, G_FILE_TEST_EXISTS))
        return hub_fail_absent(folder, "folder", error);
    if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
        if (!io_refused(path, error))
            fail_user(error, "%s: no config.json: not a Hugging Face model folder", folder);
        return NULL;
    }
    json_auto_t *root = hf_read_object(path, error);
    const HfArchitecture *arch = root ? read_root(root, config, error) : NULL;
    if (root && arch == NULL)
        fail_context(error, "%s", path);
    return arch;
}

/* transformers 5 loads a model in the type that its config names. */
static const char *dtype_in_json(const char *dtype)
{
    return strcmp(dtype, "BF16") == 0 ? "bfloat16" : strcmp(dtype, "F16") == 0 ? "float16" : "float32";
}

json_t *hf_config_json(const HfArchitecture *arch, const ModelConfig *config, const TokenRoles *roles,
                       const char *dtype)
{
    ModelConfig rates = *config; /* a copy in which rates that follow model.dropout are written as numbers */
    rates.attention_dropout = model_config_attention_dropout(config);
    rates.activation_dropout = model_config_activation_dropout(config);
    json_t *root = json_pack("{s:[s], s:s, s:b, s:s}", "architectures", arch->names.model, "model_type",
                             arch->model_type, "use_cache", 1, "dtype", dtype_in_json(dtype));
    hf_keys_write(root, arch->keys, &rates);
    hf_keys_write(root, arch->more_keys, &rates);
    json_object_set_new(root, TIED, json_boolean(config->tie_embeddings));
    arch->write(root, config, roles);
    if (config->classifier != LABELS_NONE)
        hf_classifier_write(root, arch, config);
    return root;
}

const HfArchitecture *hf_architecture(const ModelConfig *config)
{
    const Architecture stored = model_config_architecture(config);
    size_t i = 0;
    while (architectures[i]->stored != stored)
        i++;
    return architectures[i];
}

void hf_add_language_head(ModelConfig *config)
{
    config->head_transform = true;
    hf_fit(hf_architecture(config), config);
}

static bool has_param(const HfArchitecture *arch, const char *name)
{
    g_autofree char *theirs = NULL;
    return tensor_name_of(&arch->names, name, &theirs) != NULL;
}

/* Removes the heads of an encoder for which the architecture has no class. A class that predicts words has a pooler
 * only if it classifies sentence pairs too. */
static void drop_heads(const HfArchitecture *arch, ModelConfig *config)
{
    bool words = config->head_transform && has_param(arch, "transform.dense");
    bool pairs = config->sentence_head && has_param(arch, "sentence");
    if (config->n_dec > 0)
        return;
    config->head_transform = words;
    config->sentence_head = pairs;
    config->pooler = config->pooler && has_param(arch, "pooler") && (pairs || !words);
    config->head_bias = config->head_bias && words;
    config->tie_embeddings = config->tie_embeddings || !words;
}

char *hf_remedy(const ModelConfig *config)
{
    ModelConfig free = *config, fitted;
    free.architecture = ARCHITECTURE_AUTO;
    const HfArchitecture *nearest = hf_architecture(&free);
    return config->architecture && nearest->stored != (Architecture)config->architecture &&
                   hf_architecture_of(&free, &fitted, NULL)
               ? g_strconcat("; model.architecture=auto chooses ", nearest->model_type, NULL)
               : g_strdup("");
}

const HfArchitecture *hf_architecture_of(const ModelConfig *config, ModelConfig *fitted, GError **error)
{
    const HfArchitecture *arch = hf_architecture(config);
    *fitted = *config;
    drop_heads(arch, fitted);
    ModelConfig shaped = *fitted;
    hf_fit(arch, &shaped);
    g_autoptr(GPtrArray) rows = options_differences(&model_table, fitted, &shaped, OPT_IDENTITY);
    if (rows->len > 0) {
        const OptionRow *row = rows->pdata[0];
        g_autofree char *remedy = hf_remedy(config);
        return fail_user(error, "%s of Hugging Face (model.architecture=%s) has no such %s%s", arch->names.model,
                         arch->model_type, row->name, remedy);
    }
    return arch->check == NULL || arch->check(fitted, error) ? arch : NULL;
}

GHashTable *hf_parameter_names(const ModelConfig *fitted)
{
    int n;
    g_autofree ParamSpec *specs = model_param_specs(fitted, stage_whole(fitted), &n);
    GHashTable *names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (int i = 0; i < n; i++)
        g_hash_table_add(names, g_strdup(specs[i].name));
    return names;
}
