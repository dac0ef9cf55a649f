#include "model/hf/config_json.h"

#include "base/log.h"
#include "base/text.h"

#include <string.h>

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

/* The names of all classes: "negative,positive". A missing, empty or repeated name becomes LABEL_i, as in transformers.
 */
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

/* Sets the shape of a T5 with a classifier: without logits over the vocabulary, and for classes of tokens without a
 * decoder. */
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

bool hf_classifier_read(const json_t *root, const HfArchitecture *arch, ModelConfig *config, GError **error)
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

void hf_classifier_write(json_t *root, const HfArchitecture *arch, const ModelConfig *config)
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
