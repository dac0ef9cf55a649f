#include "model/hf/adapter.h"

#include "base/file.h"
#include "base/hub.h"
#include "base/text.h"
#include "format/safetensors.h"
#include "format/tensor_file.h"
#include "model/hf/config_json.h"
#include "model/hf/hf.h"
#include "model/lora/lora.h"
#include "model/params/params.h"

#define MOST_RANK 4096

/* ---- adapter_config.json ---- */

/* Whether a JSON value is absent, null, false, zero or empty. */
static bool is_unset(const json_t *value)
{
    return value == NULL || json_is_null(value) || json_is_false(value) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0) ||
           (json_is_string(value) && json_string_length(value) == 0);
}

/* clang-format off */
/* Keys of LoRA variants that change the model in other ways than w + alpha/R b a, or that set ranks per layer. */
static const char *const unknown_keys[] = {
    "use_dora", "lora_bias", "use_qalora", "rank_pattern", "alpha_pattern", "layers_to_transform", "layer_replication",
    "target_parameters", "trainable_token_indices", "alora_invocation_tokens",
};

/* Keys that loam reads, that name the program, or that change nothing in a trained adapter. fan_in_fan_out is the
 * layout of the base model's weights, which the model's architecture tells. */
static const char *const known_keys[] = {
    "peft_type", "bias", "init_lora_weights", "r", "lora_alpha", "lora_dropout", "use_rslora", "task_type",
    "base_model_name_or_path", "target_modules", "exclude_modules", "modules_to_save", "fan_in_fan_out",
    "inference_mode", "auto_mapping", "revision", "peft_version", "layers_pattern", "megatron_config", "megatron_core",
    "loftq_config", "eva_config", "corda_config", "lora_ga_config", "runtime_config", "qalora_group_size",
    "ensure_weight_tying", NULL,
};
/* clang-format on */

static void warn_of_unknown(const json_t *root)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)root, key, value)
    {
        if (!g_strv_contains(known_keys, key) && !is_unset(value))
            log_warning("adapter_config.json has %s, which loam does not know and ignores", key);
    }
}

/* Whether a module is the whole of a dotted name or some of its words in a row. */
static bool has_words(const char *name, const char *module)
{
    size_t n = strlen(module);
    for (const char *at = name; n > 0 && (at = strstr(at, module)); at++)
        if ((at == name || at[-1] == '.') && (at[n] == '.' || at[n] == 0))
            return true;
    return false;
}

static bool has_module(const TensorFile *file, const char *module)
{
    for (int i = 0; i < tensor_file_count(file); i++)
        if (has_words(tensor_file_get(file, i)->name, module))
            return true;
    return false;
}

/* Each module that was saved whole has a tensor. Of the two names that PEFT lists for classifiers, a model has one. */
static bool check_saved(const json_t *root, const TensorFile *file, GError **error)
{
    static const char *const heads[] = { "classifier", "score", NULL };
    bool has_head = has_module(file, heads[0]) || has_module(file, heads[1]);
    size_t i;
    const json_t *module;
    json_array_foreach(json_object_get(root, "modules_to_save"), i, module)
    {
        const char *name = json_is_string(module) ? json_string_value(module) : "";
        if (!has_module(file, name) && !(has_head && g_strv_contains(heads, name)))
            return fail_user(error, "modules_to_save names \"%s\", of which the adapter has no tensor", name);
    }
    return true;
}

static bool check_variant(const json_t *root, GError **error)
{
    const char *type = json_string_value(json_object_get(root, "peft_type")),
               *bias = json_string_value(json_object_get(root, "bias"));
    const json_t *init = json_object_get(root, "init_lora_weights");
    static const char *const plain[] = { "gaussian", "eva", "orthogonal", NULL };
    if (g_strcmp0(type, "LORA") != 0)
        return fail_user(error, "peft_type is \"%s\": of the adapters of PEFT, loam reads only LORA",
                         type ? type : "missing");
    if (bias && strcmp(bias, "none") != 0)
        return fail_user(error, "bias is \"%s\", want \"none\"", bias);
    if (json_is_string(init) && !g_strv_contains(plain, json_string_value(init)))
        return fail_user(error,
                         "init_lora_weights is \"%s\", which also changes the base model: merge the adapter into it "
                         "with PEFT (merge_and_unload)",
                         json_string_value(init));
    for (size_t i = 0; i < G_N_ELEMENTS(unknown_keys); i++)
        if (!is_unset(json_object_get(root, unknown_keys[i])))
            return fail_user(error, "%s is set, which loam does not support", unknown_keys[i]);
    return true;
}

/* With use_rslora, PEFT divides alpha by √R; loam always divides by R, so alpha is converted. */
static bool read_lora(const json_t *root, LoraConfig *lora, GError **error)
{
    const json_t *rank = json_object_get(root, "r"), *alpha = json_object_get(root, "lora_alpha"),
                 *dropout = json_object_get(root, "lora_dropout");
    *lora = (LoraConfig){ .rank = rank ? json_integer_value(rank) : 8,
                          .alpha = alpha ? json_number_value(alpha) : 8,
                          .dropout = json_number_value(dropout) };
    if (lora->rank < 1 || lora->rank > MOST_RANK)
        return fail_user(error, "r is %" G_GINT64_FORMAT ", want 1 to %d", lora->rank, MOST_RANK);
    if (!(lora->alpha > 0 && lora->alpha <= 1e4))
        return fail_user(error, "lora_alpha is %g, want a number up to 1e4", lora->alpha);
    if (!(lora->dropout >= 0 && lora->dropout <= 0.99))
        return fail_user(error, "lora_dropout is %g, want 0 to 0.99", lora->dropout);
    if (json_is_true(json_object_get(root, "use_rslora")))
        lora->alpha *= sqrt((double)lora->rank);
    return true;
}

static const struct {
    const char *type;
    LabelKind kind;
} task_types[] = {
    { "SEQ_CLS", LABELS_SEQUENCE },
    { "SEQ_CLS", LABELS_VALUE },
    { "TOKEN_CLS", LABELS_TOKENS },
    { "QUESTION_ANS", LABELS_SPAN },
};

static LabelKind adapter_kind(const json_t *root)
{
    const char *type = json_string_value(json_object_get(root, "task_type"));
    for (size_t i = 0; type && i < G_N_ELEMENTS(task_types); i++)
        if (strcmp(type, task_types[i].type) == 0)
            return task_types[i].kind;
    return LABELS_NONE;
}

/* The folder that base_model_name_or_path names. */
static char *find_base(const json_t *root, const char *folder, GError **error)
{
    const char *base = json_string_value(json_object_get(root, "base_model_name_or_path"));
    if (base == NULL || *base == '\0')
        return fail_user(error, "base_model_name_or_path is missing: write the folder of the model that was adapted");
    if (io_exists(base, "config.json"))
        return g_strdup(base);
    g_autofree char *beside = g_build_filename(folder, base, NULL), *hint = hub_hint(base);
    if (!g_path_is_absolute(base) && io_exists(beside, "config.json"))
        return g_steal_pointer(&beside);
    return fail_user(
        error,
        "base_model_name_or_path is \"%s\", and there is no such folder with a config.json: write the folder of "
        "the model that was adapted%s",
        base, hint);
}

bool hf_is_folder(const char *folder)
{
    return io_exists(folder, "config.json") || io_exists(folder, HF_ADAPTER_CONFIG);
}

static char *base_of(const char *folder)
{
    g_autofree char *path = g_build_filename(folder, HF_ADAPTER_CONFIG, NULL);
    json_auto_t *root = io_exists(folder, HF_ADAPTER_CONFIG) ? hf_read_object(path, NULL) : NULL;
    return root ? find_base(root, folder, NULL) : NULL;
}

char *hf_find_tokenizer(const char *folder, Tokenizer **opened)
{
    char *own = tokenizer_find(folder, opened, NULL);
    g_autofree char *base = own ? NULL : base_of(folder);
    return base ? tokenizer_find(base, opened, NULL) : own;
}

static TensorFile *open_tensors(const char *folder, GError **error)
{
    g_autofree char *safe = g_build_filename(folder, "adapter_model.safetensors", NULL),
                    *torch = g_build_filename(folder, "adapter_model.bin", NULL);
    if (g_file_test(safe, G_FILE_TEST_EXISTS))
        return safetensors_open(safe, error);
    if (g_file_test(torch, G_FILE_TEST_EXISTS))
        return torch_open(torch, error);
    return fail_user(error, "%s holds neither adapter_model.safetensors nor adapter_model.bin", folder);
}

bool hf_adapter_open(HfAdapter *adapter, const char *folder, GError **error)
{
    g_autofree char *path = g_build_filename(folder, HF_ADAPTER_CONFIG, NULL);
    json_auto_t *root = hf_read_object(path, error);
    *adapter = (HfAdapter){ 0 };
    if (root == NULL)
        return false;
    adapter->kind = adapter_kind(root);
    const json_t *targets = json_object_get(root, "target_modules");
    bool some = !json_is_array(targets) || json_array_size(targets) > 0 ||
                fail_user(error, "target_modules is empty: the adapter adapts nothing");
    bool good = some && check_variant(root, error) && read_lora(root, &adapter->lora, error) &&
                (adapter->base = find_base(root, folder, error)) != NULL;
    adapter->file = good ? open_tensors(folder, error) : NULL;
    if (adapter->file)
        warn_of_unknown(root);
    good = good && (adapter->file == NULL || check_saved(root, adapter->file, error));
    return (good || fail_context(error, "%s", path)) && adapter->file != NULL;
}

void hf_adapter_close(HfAdapter *adapter)
{
    g_clear_pointer(&adapter->base, g_free);
    g_clear_pointer(&adapter->file, tensor_file_close);
}

/* ---- the tensors of an adapter ---- */

/* The name of a layer's tensor "lora_A.weight" in a block of the encoder or decoder; NULL means that there is no such
 * block or that the layer is not a module of its own in this architecture. g_free. */
static char *tensor_of(const TensorNames *names, const ModelConfig *config, const char *layer, bool decoder,
                       int64_t block)
{
    char *theirs = NULL;
    if (block >= (decoder ? config->n_dec : config->n_enc) || (!config->gated && g_str_has_prefix(layer, "mlp.wi_")))
        return NULL;
    g_autofree char *ours = g_strdup_printf("%s.%d.%s" LORA_A, decoder ? "decoder" : "encoder", (int)block, layer);
    tensor_name_of(names, ours, &theirs);
    if (theirs && config->gated &&
        strcmp(layer, "mlp.wi") == 0) { /* wi_0 and wi_1 of a gated model may be one module or two */
        g_autofree char *apart = tensor_of(names, config, "mlp.wi_0", decoder, block);
        if (apart)
            g_clear_pointer(&theirs, g_free);
    }
    return theirs;
}

static void append_name(GString *list, const char *name)
{
    g_string_append_printf(list, "%s%s", list->len ? "," : "", name);
}

/* The tensor with a name of loam's; NULL if there is none. */
static const FileTensor *find_tensor(const TensorNames *names, GHashTable *tensors, const char *ours)
{
    g_autofree char *theirs = NULL;
    tensor_name_of(names, ours, &theirs);
    return theirs ? g_hash_table_lookup(tensors, theirs) : NULL;
}

/* PEFT replaces only the module that modules_to_save names. In a T5 the embedding is three modules, which loam has as
 * one matrix; in other models logits come from the base model's embedding, `embedding`, if the adapter has another. */
static bool keep_logits(const TensorNames *names, GHashTable *tensors, const FileTensor *embedding,
                        const ModelConfig *config, GError **error)
{
    g_autofree char *head = NULL;
    const bool replaced = find_tensor(names, tensors, "shared") != embedding;
    const bool logits = config->family == FAMILY_GPT || find_tensor(names, tensors, "transform.dense");
    if (replaced && config->family == FAMILY_T5)
        return fail_user(error, "modules_to_save names \"shared\", in place of which PEFT leaves the embeddings of the "
                                "encoder and the decoder as they are, and loam has one embedding: leave it out");
    if (replaced && embedding && logits && config->classifier == LABELS_NONE &&
        tensor_name_of(names, "lm_head", &head) && !g_hash_table_contains(tensors, head))
        g_hash_table_insert(tensors, g_strdup(head), (gpointer)embedding);
    return true;
}

/* Fails for an adapter without a tensor of the first blocks. */
static bool refuse_targets(const TensorNames *names, GHashTable *tensors, const ModelConfig *config, GError **error)
{
    for (int64_t block = 1; block < MAX(config->n_enc, config->n_dec); block++)
        for (int i = 0; i < 2 * LORA_LAYERS; i++) {
            g_autofree char *theirs = tensor_of(names, config, lora_layers[i / 2].name, i % 2, block);
            if (theirs && g_hash_table_contains(tensors, theirs))
                return fail_user(error,
                                 "target_modules chooses adapters of some blocks only (%s, but none of the first "
                                 "block): loam adapts a layer in all blocks",
                                 theirs);
        }
    return fail_user(error, "the adapter has no tensor lora_A.weight of a linear layer that loam adapts");
}

bool hf_adapter_join(const HfAdapter *adapter, const TensorNames *names, GHashTable *tensors, ModelConfig *config,
                     GError **error)
{
    g_autoptr(GString) targets = g_string_new(NULL);
    g_autofree char *whole = g_strconcat(HF_ADAPTER_PREFIX, names->prefix, NULL);
    const FileTensor *embedding = find_tensor(names, tensors, "shared");
    bool bare = true;
    for (int i = 0; i < tensor_file_count(adapter->file); i++)
        bare = bare && !g_str_has_prefix(tensor_file_get(adapter->file, i)->name, whole);
    for (int i = 0; i < tensor_file_count(adapter->file); i++) {
        const FileTensor *tensor = tensor_file_get(adapter->file, i);
        if (!g_str_has_prefix(tensor->name, HF_ADAPTER_PREFIX))
            return fail_user(error, "tensor %s of the adapter does not begin with " HF_ADAPTER_PREFIX, tensor->name);
        const char *name = tensor->name + strlen(HF_ADAPTER_PREFIX);
        if (config->family == FAMILY_T5 && g_str_has_suffix(name, "coder.embed_tokens.weight"))
            return fail_user(error, "modules_to_save names \"embed_tokens\", the embedding of one stack: in loam both "
                                    "have the same");
        bool prefixed = bare && !tensor_name_is_head(names, name);
        g_hash_table_replace(tensors, g_strconcat(prefixed ? names->prefix : "", name, NULL), (gpointer)tensor);
    }
    if (!keep_logits(names, tensors, embedding, config, error))
        return false;
    for (int i = 0; i < LORA_LAYERS; i++)
        for (int decoder = 0; decoder < 2; decoder++) {
            g_autofree char *theirs = tensor_of(names, config, lora_layers[i].name, decoder, 0);
            if (theirs && g_hash_table_contains(tensors, theirs)) {
                append_name(targets, lora_layers[i].name);
                break;
            }
        }
    config->lora = adapter->lora;
    config->lora.targets = (char *)(uintptr_t)g_intern_string(targets->str);
    return targets->len > 0 || refuse_targets(names, tensors, config, error);
}

/* ---- lora.targets ---- */

/* Whether PEFT's target matches a module: it equals the module's name, or the end of the name after a dot. */
static bool names_module(const char *target, const char *module)
{
    size_t n = strlen(target), all = strlen(module);
    return n > 0 && n <= all && strcmp(module + all - n, target) == 0 && (n == all || module[all - n - 1] == '.');
}

/* Whether the target matches this layer. Adds the last word of its module name to `known`, for error messages. */
static bool takes(const char *target, const TensorNames *names, const ModelConfig *config, const char *layer,
                  GHashTable *known)
{
    bool found = false;
    for (int decoder = 0; decoder < 2; decoder++) {
        g_autofree char *theirs = tensor_of(names, config, layer, decoder, 0);
        if (theirs == NULL)
            continue;
        theirs[strlen(theirs) - strlen(".lora_A.weight")] = '\0';
        g_hash_table_add(known, g_strdup(strrchr(theirs, '.') + 1));
        found =
            found || strcmp(target, "all-linear") == 0 || names_module(target, theirs) || strcmp(target, layer) == 0;
    }
    return found;
}

/* Sets marks[layer] of each layer that the target matches; an error if there is none. */
static bool mark(const char *target, const TensorNames *names, const ModelConfig *config, bool *marks, GError **error)
{
    g_autoptr(GHashTable) known = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    bool any = false;
    for (int i = 0; i < LORA_LAYERS; i++)
        if (takes(target, names, config, lora_layers[i].name, known))
            any = marks[i] = true;
    if (any)
        return true;
    g_autoptr(GList) sorted = g_list_sort(g_hash_table_get_keys(known), (GCompareFunc)strcmp);
    g_autoptr(GString) list = g_string_new(NULL);
    for (const GList *link = sorted; link; link = link->next)
        g_string_append_printf(list, "%s%s", list->len ? ", " : "", (const char *)link->data);
    return fail_user(error, "lora.targets: no linear layer of a block is called \"%s\"; there are %s", target,
                     list->str);
}

bool hf_resolve_targets(ModelConfig *config, GError **error)
{
    const TensorNames names = hf_names(hf_architecture(config), config);
    static const char *const queries_and_values[] = { "self.q", "self.v", "self.qkv", "cross.q", "cross.v" };
    g_auto(GStrv) targets = text_list(config->lora.targets);
    bool marks[LORA_LAYERS] = { false }, all[LORA_LAYERS] = { false };
    if (config->lora.rank == 0)
        return true;
    if (!mark("all-linear", &names, config, all, NULL)) {
        g_autofree char *remedy = hf_remedy(config);
        return fail_user(error, "lora.targets: %s of Hugging Face has no linear layer of this model%s", names.model,
                         remedy);
    }
    for (size_t i = 0; *targets == NULL && i < G_N_ELEMENTS(queries_and_values); i++)
        mark(queries_and_values[i], &names, config, marks, NULL);
    for (char **target = targets; *target; target++)
        if (!mark(*target, &names, config, marks, error))
            return false;
    GString *resolved = g_string_new(NULL);
    for (int i = 0; i < LORA_LAYERS; i++)
        if (marks[i])
            append_name(resolved, lora_layers[i].name);
    g_free(config->lora.targets);
    config->lora.targets = g_string_free(resolved, FALSE);
    return true;
}

/* ---- adapter_config.json of a model with adapters ---- */

static bool has_name(GPtrArray *names, const char *name)
{
    return g_ptr_array_find_with_equal_func(names, name, g_str_equal, NULL);
}

/* Appends a name, which it takes over, unless the list has it already. */
static void add_new(GPtrArray *names, char *name)
{
    if (has_name(names, name))
        g_free(name);
    else
        g_ptr_array_add(names, name);
}

static json_t *names_json(const GPtrArray *names)
{
    json_t *array = json_array();
    for (guint i = 0; i < names->len; i++)
        json_array_append_new(array, json_string(names->pdata[i]));
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

/* The modules with an adapter: the last word of each name if no other module has it, else the full name. */
static json_t *targets_json(const TensorNames *tensor_names, const ParamSpec *specs, int n)
{
    g_autoptr(GPtrArray) whole = g_ptr_array_new_with_free_func(g_free), words = g_ptr_array_new_with_free_func(g_free);
    bool clear = true;
    for (int i = 0; i < n; i++) {
        g_autofree char *theirs = NULL;
        if (!g_str_has_suffix(specs[i].name, LORA_A) || !tensor_name_of(tensor_names, specs[i].name, &theirs))
            continue;
        theirs[strlen(theirs) - strlen(".lora_A.weight")] = '\0';
        add_new(whole, g_strdup(theirs));
        add_new(words, g_strdup(last_word(theirs)));
    }
    for (int i = 0; i < n; i++) {
        g_autofree char *theirs = NULL;
        if (lora_is_adapter(specs[i].name) || !tensor_name_of(tensor_names, specs[i].name, &theirs))
            continue;
        g_autofree char *module = module_of(theirs);
        clear = clear && (!has_name(words, last_word(module)) || has_name(whole, module));
    }
    return names_json(clear ? words : whole);
}

/* Modules that are trained and stored whole: those of the head. PEFT wraps one called "classifier" as a whole, so names
 * of heads end at their first dot. */
static json_t *saved_json(const TensorNames *tensor_names, const ModelConfig *config, const ParamSpec *specs, int n)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < n; i++) {
        g_autofree char *theirs = NULL;
        if (lora_is_adapter(specs[i].name) || !lora_trains(config, &specs[i]) ||
            !tensor_name_of(tensor_names, specs[i].name, &theirs))
            continue;
        char *module = module_of(theirs);
        if (tensor_name_is_head(tensor_names, theirs))
            module[strcspn(module, ".")] = '\0';
        add_new(names, module);
    }
    return names->len ? names_json(names) : json_null();
}

static json_t *task_type(const ModelConfig *config)
{
    const char *name = config->family == FAMILY_GPT                                       ? "CAUSAL_LM"
                       : config->family == FAMILY_T5 && config->classifier == LABELS_NONE ? "SEQ_2_SEQ_LM"
                                                                                          : NULL;
    for (size_t i = 0; name == NULL && i < G_N_ELEMENTS(task_types); i++)
        if ((int)task_types[i].kind == config->classifier)
            name = task_types[i].type;
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
