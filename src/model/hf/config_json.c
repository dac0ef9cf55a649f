#include "model/hf/config_json.h"

#include "base/file.h"
#include "base/hub.h"
#include "base/text.h"
#include "model/hf/hf.h"
#include "model/params/params.h"

/* ---- the classes of transformers for fine-tuned encoders (BertForSequenceClassification, …) and the keys of
 * config.json that describe their classifiers ---- */

#define MOST_LABELS 65536

/* How the name of transformers' class ends, by kind of classifier. */
static const struct {
    const char *suffix;
    LabelKind kind;
} classes[] = {
    { "ForSequenceClassification", LABELS_SEQUENCE }, { "ForSequenceClassification", LABELS_VALUE },
    { "ForTokenClassification", LABELS_TOKENS },      { "ForQuestionAnswering", LABELS_SPAN },
    { "ForMultipleChoice", LABELS_CHOICE },
};

static LabelKind class_kind(const json_t *root)
{
    const char *name = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
    for (size_t i = 0; name && i < G_N_ELEMENTS(classes); i++)
        if (g_str_has_suffix(name, classes[i].suffix))
            return classes[i].kind;
    return LABELS_NONE;
}

/* Number of outputs: of id2label, else num_labels, else 2. */
static bool count_labels(const json_t *root, int64_t *n, GError **error)
{
    const json_t *names = json_object_get(root, "id2label"), *number = json_object_get(root, "num_labels");
    *n = json_is_object(names) ? (int64_t)json_object_size(names) : number ? json_integer_value(number) : 2;
    if (json_is_integer(number) && json_integer_value(number) != *n)
        return fail_user(error, "num_labels is %" JSON_INTEGER_FORMAT ", but id2label has %" G_GINT64_FORMAT " names",
                         json_integer_value(number), *n);
    return (*n >= 1 && *n <= MOST_LABELS) ||
           fail_user(error, "id2label has %" G_GINT64_FORMAT " names, want 1 to %d", *n, MOST_LABELS);
}

/* The name of a class in id2label; a JSON number means its digits, because transformers writes numeric labels so. NULL
 * means that the class has no name. g_free. */
static char *read_name(const json_t *value)
{
    return json_is_integer(value) ? g_strdup_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value))
                                  : g_strdup(json_string_value(value));
}

/* The names of all classes: "negative,positive". As in transformers, missing, empty and repeated ones are LABEL_i. */
static char *read_names(const json_t *root, int64_t n)
{
    const json_t *names = json_object_get(root, "id2label");
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);
    for (int64_t i = 0; i < n; i++) {
        g_autofree char *key = g_strdup_printf("%" G_GINT64_FORMAT, i), *other = g_strconcat("LABEL_", key, NULL);
        g_autofree char *name = read_name(json_object_get(names, key));
        bool usable = name && *name && !g_hash_table_contains(seen, name);
        if (name && !usable)
            log_warning("the class \"%s\" is called %s: names of classes are not empty and differ", name, other);
        g_ptr_array_add(all, usable ? g_steal_pointer(&name) : g_steal_pointer(&other));
        g_hash_table_add(seen, all->pdata[i]);
    }
    g_ptr_array_add(all, NULL);
    return text_list_join((const char *const *)all->pdata);
}

/* Fails if label2id gives a name of id2label another number. It may lack names, or have others: transformers takes
 * names from id2label only, and writes label2id with LABEL_0, LABEL_1, … unless a program sets it. */
static bool check_numbers(const json_t *root, GError **error)
{
    const json_t *names = json_object_get(root, "id2label"), *numbers = json_object_get(root, "label2id");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)names, key, value)
    {
        g_autofree char *name = read_name(value);
        g_autofree char *number = name ? read_name(json_object_get(numbers, name)) : NULL;
        g_autofree char *other = number ? read_name(json_object_get(names, number)) : NULL;
        if (number && g_strcmp0(other, name) != 0)
            return fail_user(error, "label2id says that \"%s\" is class %s, id2label that it is class %s", name, number,
                             key);
    }
    return true;
}

/* Sets the shape of a T5 with a classifier: no logits over the vocabulary and, for token classes, no decoder. */
static void shape_t5(ModelConfig *config, LabelKind kind)
{
    config->n_dec = kind == LABELS_TOKENS ? 0 : config->n_dec;
    config->scale_logits = false;
}

void hf_classifier_shape(const HfArchitecture *arch, LabelKind kind, ModelConfig *config)
{
    config->classifier = (int)kind;
    if (arch->family == FAMILY_T5)
        shape_t5(config, kind);
    hf_fit(arch, config);
}

bool hf_classifier_name(ModelConfig *config, int64_t n)
{
    if (config->classifier == LABELS_SEQUENCE && n == 1)
        config->classifier = LABELS_VALUE;
    if (config->classifier != LABELS_SEQUENCE && config->classifier != LABELS_TOKENS)
        return n == model_config_outputs(config);
    g_autofree char *names = n <= MOST_LABELS ? read_names(NULL, n) : NULL;
    config->labels = (char *)(uintptr_t)g_intern_string(names);
    return names != NULL && n > 1;
}

/* Sets config->classifier and config->labels from the keys architectures, id2label and problem_type; a class without a
 * classifier leaves both unchanged. config->labels is never freed. */
static bool read_classifier(const json_t *root, const HfArchitecture *arch, ModelConfig *config, GError **error)
{
    const char *problem = json_string_value(json_object_get(root, "problem_type"));
    const char *pooling = json_string_value(json_object_get(root, "classifier_pooling"));
    LabelKind kind = class_kind(root);
    const HfKey dropout = HF_REAL("classifier_dropout", classifier_dropout, -1, 0, 0.99);
    int64_t n;
    if (kind == LABELS_NONE)
        return true;
    if (arch->family == FAMILY_GPT || (arch->family == FAMILY_T5 && kind == LABELS_CHOICE))
        return fail_user(error,
                         "architectures is \"%s\": loam reads only the classifiers of BERT, RoBERTa and ModernBERT, "
                         "and T5's for sequences, tokens and answers",
                         json_string_value(json_array_get(json_object_get(root, "architectures"), 0)));
    if (arch->family == FAMILY_T5)
        shape_t5(config, kind);
    if (!count_labels(root, &n, error) || !check_numbers(root, error) || !hf_key_read(root, &dropout, config, error))
        return false;
    if (kind == LABELS_SEQUENCE && g_strcmp0(problem, "multi_label_classification") == 0)
        return fail_user(error, "problem_type is multi_label_classification: a classifier of loam chooses one class");
    if (kind == LABELS_SEQUENCE && pooling && strcmp(pooling, "cls") != 0)
        return fail_user(error, "classifier_pooling is \"%s\": loam's classifier reads the first token (\"cls\")",
                         pooling);
    bool value = kind == LABELS_SEQUENCE && (problem ? strcmp(problem, "regression") == 0 : n == 1);
    if ((value && n != 1) || (kind == LABELS_SPAN && n != 2))
        return fail_user(error, "id2label has %" G_GINT64_FORMAT " names: loam has %s", n,
                         value ? "one value of a text" : "begin and end of a span");
    if (!value && n == 1 && kind != LABELS_CHOICE)
        return fail_user(error, "id2label has one name, and a classifier two or more");
    config->classifier = (int)(value ? LABELS_VALUE : kind);
    if (config->classifier == LABELS_SEQUENCE || config->classifier == LABELS_TOKENS) {
        g_autofree char *names = read_names(root, n);
        config->labels = (char *)(uintptr_t)g_intern_string(names);
    }
    return true;
}

static void write_names(json_t *root, const ModelConfig *config)
{
    g_auto(GStrv) names = text_list(config->labels);
    json_t *by_id = json_object(), *by_name = json_object();
    for (int i = 0; names[i]; i++) {
        g_autofree char *key = g_strdup_printf("%d", i);
        json_object_set_new(by_id, key, json_string(names[i]));
        json_object_set_new(by_name, names[i], json_integer(i));
    }
    json_object_set_new(root, "id2label", by_id);
    json_object_set_new(root, "label2id", by_name);
}

/* Writes the keys that read_classifier reads, for a model with a classifier. */
static void write_classifier(json_t *root, const HfArchitecture *arch, const ModelConfig *config)
{
    const char *end = strstr(arch->names.model, "For");
    int kind = config->classifier;
    g_autofree char *family = g_strndup(arch->names.model, (gsize)(end - arch->names.model));
    for (size_t i = 0; i < G_N_ELEMENTS(classes); i++)
        if ((int)classes[i].kind == kind) {
            g_autofree char *name = g_strconcat(family, classes[i].suffix, NULL);
            json_object_set_new(root, "architectures", json_pack("[s]", name));
        }
    if (kind == LABELS_SEQUENCE || kind == LABELS_TOKENS)
        write_names(root, config);
    if (kind == LABELS_VALUE) {
        json_object_set_new(root, "id2label", json_pack("{s:s}", "0", "LABEL_0"));
        json_object_set_new(root, "label2id", json_pack("{s:i}", "LABEL_0", 0));
    }
    if (kind == LABELS_SEQUENCE || kind == LABELS_VALUE)
        json_object_set_new(root, "problem_type",
                            json_string(kind == LABELS_VALUE ? "regression" : "single_label_classification"));
    json_object_set_new(root, "classifier_dropout", json_real(model_config_classifier_dropout(config)));
    json_object_set_new(root, "classifier_pooling", json_string("cls"));
}

/* ---- config.json ---- */

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

/* Fails unless all numbers read from config.json, and all derived from them, are in the ranges of their options. */
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
    HF_FIXED("sliding_window", "null"),       HF_FIXED("attention_chunk_size", "null"),
    HF_FIXED("per_layer_config", "null"),     HF_FIXED("transformers_weights", "null"),
    HF_FIXED("tie_encoder_decoder", "false"), { 0 },
};

/* transformers 5 attends to later tokens, or not, as is_causal says, whatever the family. */
static bool check_causal(const json_t *root, Family family, GError **error)
{
    static const char *const only[] = { [FAMILY_T5] = "null", [FAMILY_BERT] = "false", [FAMILY_GPT] = "true" };
    return hf_key_read(root, &(HfKey)HF_FIXED("is_causal", only[family]), NULL, error);
}

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
        !check_causal(root, arch->family, error) || !hf_aliases_take(root, arch->aliases, error) ||
        !hf_keys_read(root, arch->keys, config, error) || !hf_keys_read(root, arch->more_keys, config, error) ||
        !arch->read(root, config, error) || !read_classifier(root, arch, config, error) ||
        !hf_flag_read(root, TIED, &config->tie_embeddings, error))
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
        write_classifier(root, arch, config);
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
