/* adapter_json.c: adapter_config.json of a model with adapters. */
#include "model/hf/adapter.h"
#include "model/lora/lora.h"
#include "model/params/params.h"

#include <string.h>

/* Names of modules, in order and without duplicates. */
typedef struct Names {
    GHashTable *seen;
    GPtrArray *list;
} Names;

static Names names_new(void)
{
    return (Names){ g_hash_table_new(g_str_hash, g_str_equal), g_ptr_array_new_with_free_func(g_free) };
}

static void names_add(Names *names, char *name)
{
    if (g_hash_table_contains(names->seen, name)) {
        g_free(name);
        return;
    }
    g_hash_table_add(names->seen, name);
    g_ptr_array_add(names->list, name);
}

static json_t *names_json(Names *names)
{
    json_t *array = json_array();
    for (guint i = 0; i < names->list->len; i++)
        json_array_append_new(array, json_string(names->list->pdata[i]));
    g_hash_table_unref(names->seen);
    g_ptr_array_unref(names->list);
    return array;
}

static const char *last_word(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* Name of the module of a tensor, "classifier.weight" or "classifier.bias". g_free. */
static char *module_of(const char *tensor)
{
    return g_strndup(tensor, (gsize)(strrchr(tensor, '.') - tensor));
}

/* The modules with an adapter: the last word of each name if no other module has the same last word, else the full
 * name. */
static json_t *targets_json(const TensorNames *tensor_names, const ParamSpec *specs, int n)
{
    Names whole = names_new(), words = names_new();
    bool clear = true;
    for (int i = 0; i < n; i++) {
        g_autofree char *theirs = NULL;
        if (!g_str_has_suffix(specs[i].name, LORA_A) || !tensor_name_of(tensor_names, specs[i].name, &theirs))
            continue;
        theirs[strlen(theirs) - strlen(".lora_A.weight")] = '\0';
        names_add(&whole, g_strdup(theirs));
        names_add(&words, g_strdup(last_word(theirs)));
    }
    for (int i = 0; i < n; i++) {
        g_autofree char *theirs = NULL;
        if (lora_is_adapter(specs[i].name) || !tensor_name_of(tensor_names, specs[i].name, &theirs))
            continue;
        g_autofree char *module = module_of(theirs);
        clear = clear &&
                (!g_hash_table_contains(words.seen, last_word(module)) || g_hash_table_contains(whole.seen, module));
    }
    json_t *long_names = names_json(&whole), *short_names = names_json(&words);
    json_decref(clear ? long_names : short_names);
    return clear ? short_names : long_names;
}

/* Modules that are trained and stored whole: those of the head. PEFT wraps one called "classifier" as a whole, so names
 * of heads end at their first dot. */
static json_t *saved_json(const TensorNames *tensor_names, const ModelConfig *config, const ParamSpec *specs, int n)
{
    Names names = names_new();
    for (int i = 0; i < n; i++) {
        g_autofree char *theirs = NULL;
        if (lora_is_adapter(specs[i].name) || !lora_trains(config, &specs[i]) ||
            !tensor_name_of(tensor_names, specs[i].name, &theirs))
            continue;
        char *module = module_of(theirs);
        if (tensor_name_is_head(tensor_names, theirs))
            module[strcspn(module, ".")] = '\0';
        names_add(&names, module);
    }
    return names.list->len ? names_json(&names) : (json_decref(names_json(&names)), json_null());
}

static json_t *task_type(const ModelConfig *config)
{
    static const char *const of_classifiers[] = { [LABELS_SEQUENCE] = "SEQ_CLS",
                                                  [LABELS_VALUE] = "SEQ_CLS",
                                                  [LABELS_TOKENS] = "TOKEN_CLS",
                                                  [LABELS_SPAN] = "QUESTION_ANS" };
    if (config->family == FAMILY_GPT)
        return json_string("CAUSAL_LM");
    if (config->family == FAMILY_T5 && config->classifier == LABELS_NONE)
        return json_string("SEQ_2_SEQ_LM");
    const char *name =
        (size_t)config->classifier < G_N_ELEMENTS(of_classifiers) ? of_classifiers[config->classifier] : NULL;
    return name ? json_string(name) : json_null();
}

/* Whether the adapted modules are Conv1D of transformers, whose weights are (in, out). */
static bool transposed(const TensorNames *names)
{
    for (const TensorName *name = names->body; name->ours; name++)
        if (name->transposed)
            return true;
    return false;
}

json_t *hf_adapter_json(const HfArchitecture *arch, const ModelConfig *config, const char *base)
{
    const TensorNames names = hf_names(arch, config);
    int n;
    g_autofree ParamSpec *specs = model_param_specs(config, stage_whole(config), &n);
    json_t *root = json_pack("{s:s, s:s, s:I, s:f, s:f, s:b, s:b, s:b, s:b, s:b}", "peft_type", "LORA", "bias", "none",
                             "r", (json_int_t)config->lora.rank, "lora_alpha", config->lora.alpha, "lora_dropout",
                             config->lora.dropout, "fan_in_fan_out", transposed(&names), "init_lora_weights", true,
                             "use_rslora", false, "use_dora", false, "inference_mode", true);
    json_object_set_new(root, "task_type", task_type(config));
    json_object_set_new(root, "base_model_name_or_path", base ? json_string(base) : json_null());
    json_object_set_new(root, "target_modules", targets_json(&names, specs, n));
    json_object_set_new(root, "modules_to_save", saved_json(&names, config, specs, n));
    return root;
}
