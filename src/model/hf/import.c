/* import.c: reads a model from a Hugging Face folder. */
#include "model/hf/hf.h"

#include "base/file.h"
#include "format/tensor_file.h"
#include "model/hf/adapter.h"
#include "model/hf/config_json.h"
#include "model/lora/lora.h"
#include "model/params/params.h"

#define SHAPED_BY "config.json makes it"

/* An opened folder. */
typedef struct Source {
    const HfArchitecture *arch;
    TensorNames names;
    TensorFile *file;
    GHashTable *tensors; /* name in the tables of `arch` -> const FileTensor * */
    bool says_untied;    /* config.json has tie_word_embeddings false */
    HfAdapter adapter;   /* the adapter, if the folder has one; else zeros */
} Source;

/* Prefixes of the model's tensor names in checkpoints of training programs, which also contain an optimizer. */
static const char *const holders[] = { "model_state_dict/", "state_dict/", "model/" };

static bool any_starts_with(const TensorFile *file, const char *start)
{
    for (int i = 0; i < tensor_file_count(file); i++)
        if (g_str_has_prefix(tensor_file_get(file, i)->name, start))
            return true;
    return false;
}

/* The prefix of all tensor names of the model in this file: one of `holders`, or "" if it has only the model. */
static const char *holder_of(const TensorFile *file)
{
    for (size_t i = 0; i < G_N_ELEMENTS(holders); i++)
        if (any_starts_with(file, holders[i]))
            return holders[i];
    return "";
}

/* The present name of a tensor; old BERT files use TensorFlow's names (gamma, beta) for norms' weights. g_free. */
static char *modern_name(const char *name)
{
    GString *text = g_string_new(name);
    g_string_replace(text, "LayerNorm.gamma", "LayerNorm.weight", 1);
    g_string_replace(text, "LayerNorm.beta", "LayerNorm.bias", 1);
    return g_string_free(text, FALSE);
}

/* Maps present names, with names->prefix, to tensors. */
static GHashTable *tensors_by_name(const TensorNames *names, const TensorFile *file, GError **error)
{
    g_autoptr(GHashTable) tensors = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    const char *holder = holder_of(file);
    g_autofree char *start = g_strconcat(holder, names->prefix, NULL);
    bool bare = !any_starts_with(file, start); /* the file of a bare model (BertModel) lacks the prefix "bert." */
    for (int i = 0; i < tensor_file_count(file); i++) {
        const FileTensor *tensor = tensor_file_get(file, i);
        if (!g_str_has_prefix(tensor->name, holder))
            continue;
        g_autofree char *name = modern_name(tensor->name + strlen(holder));
        bool prefixed = bare && !tensor_name_is_head(names, name);
        if (!g_hash_table_insert(tensors, g_strconcat(prefixed ? names->prefix : "", name, NULL), (gpointer)tensor))
            return fail_user(error, "tensor %s is there twice, once under an old name", tensor->name);
    }
    return g_steal_pointer(&tensors);
}

static const FileTensor *find_param(const Source *source, const char *ours)
{
    g_autofree char *theirs = NULL;
    tensor_name_of(&source->names, ours, &theirs);
    return theirs ? g_hash_table_lookup(source->tensors, theirs) : NULL;
}

/* Whether embeddings are tied: true unless the file has a matrix for the logits that differs from the embedding. */
static bool file_is_tied(const Source *source)
{
    const FileTensor *head = find_param(source, "lm_head"), *shared = find_param(source, "shared");
    return head == NULL || (shared && file_tensor_equal(head, shared));
}

/* The tensor of the embedding under another name, if the file lacks its own: the first of its copies, such as a T5's
 * decoder.embed_tokens.weight, or of tied embeddings the matrix for the logits. NULL means that there is none. */
static gpointer find_embedding_copy(const Source *source, bool tied)
{
    g_autoptr(GList) found = g_list_sort(g_hash_table_get_keys(source->tensors), (GCompareFunc)strcmp);
    for (const GList *link = found; link; link = link->next) {
        const IgnoredTensor *ignored = tensor_name_ignored(&source->names, link->data);
        if (ignored && g_strcmp0(ignored->copy_of, "shared") == 0)
            return g_hash_table_lookup(source->tensors, link->data);
    }
    return tied ? (gpointer)find_param(source, "lm_head") : NULL;
}

/* Of tied tensors a file may hold only one, under any of their names. tied: config.json says so of the logits. */
static void take_embedding(Source *source, bool tied)
{
    char *shared;
    gpointer copy = find_param(source, "shared") ? NULL : find_embedding_copy(source, tied);
    if (copy && tensor_name_of(&source->names, "shared", &shared))
        g_hash_table_insert(source->tensors, shared, copy);
}

/* If a file has the logits' bias under both names, transformers uses the second one. */
static void take_second_bias(Source *source)
{
    const HfArchitecture *arch = source->arch;
    gpointer second = arch->second_bias ? g_hash_table_lookup(source->tensors, arch->second_bias) : NULL;
    char *first;
    if (second && tensor_name_of(&source->names, "lm_head.bias", &first))
        g_hash_table_replace(source->tensors, first, second);
}

/* Sets the options that follow from the tensors: whether embeddings are tied, and which heads an encoder has. */
static void infer(Source *source, ModelConfig *config)
{
    take_second_bias(source);
    source->says_untied = !config->tie_embeddings;
    config->tie_embeddings = file_is_tied(source);
    config->pooler = find_param(source, "pooler") != NULL;
    config->sentence_head = find_param(source, "sentence") != NULL;
    config->head_transform = find_param(source, "transform.dense") != NULL;
    config->head_bias = config->head_transform && config->classifier == LABELS_NONE;
    if (source->arch->infer)
        source->arch->infer(source->tensors, config);
    hf_fit(source->arch, config);
}

/* Warns if config.json says that embeddings are not tied but the file has no lm_head: transformers would initialise it
 * randomly, loam uses the embedding. */
static void warn_missing_head(const Source *source, const ModelConfig *config)
{
    g_autofree char *head = NULL;
    bool logits = config->classifier == LABELS_NONE && (config->n_dec > 0 || config->head_transform);
    if (source->says_untied && logits && tensor_name_of(&source->names, "lm_head", &head) &&
        !g_hash_table_contains(source->tensors, head))
        log_warning("config.json has tie_word_embeddings false, but there is no %s: logits come from the embedding",
                    head);
}

/* For an adapter that contains a classifier, while its base model has none: names the classes LABEL_0, LABEL_1, … since
 * no file does, and removes unused tensors of the base model, such as its language-model head, from source->tensors. */
static bool take_classifier(Source *source, ModelConfig *config, GError **error)
{
    const FileTensor *out = find_param(source, config->classifier == LABELS_SPAN ? "span" : "classifier");
    out = out ? out : find_param(source, "classifier.out");
    if (out == NULL || !hf_classifier_name(config, out->shape[0]))
        return fail_user(error, "task_type wants a classifier, and the adapter has none that fits");
    int n;
    g_autofree ParamSpec *specs = model_param_specs(config, stage_whole(config), &n);
    g_autoptr(GHashTable) wanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (int i = 0; i < n; i++) {
        char *theirs;
        tensor_name_of(&source->names, specs[i].name, &theirs);
        g_hash_table_add(wanted, theirs);
    }
    GHashTableIter iter;
    gpointer name;
    g_hash_table_iter_init(&iter, source->tensors);
    while (g_hash_table_iter_next(&iter, &name, NULL))
        if (!g_hash_table_contains(wanted, name) && strstr(name, ".lora_") == NULL &&
            !tensor_name_ignored(&source->names, name))
            g_hash_table_iter_remove(&iter);
    return true;
}

/* Sets *config from config.json and tensor names. For an adapter's folder, reads those of its base model, and it. */
static bool source_open(Source *source, const char *folder, ModelConfig *config, GError **error)
{
    bool adapts = io_exists(folder, HF_ADAPTER_CONFIG);
    *source = (Source){ 0 };
    if (adapts && !hf_adapter_open(&source->adapter, folder, error))
        return false;
    const char *base = adapts ? source->adapter.base : folder;
    source->arch = hf_config_read(base, config, error);
    if (source->arch == NULL || (source->file = weights_open(base, error)) == NULL)
        return false;
    bool classifies = config->classifier == LABELS_NONE && source->adapter.kind != LABELS_NONE;
    if (classifies)
        hf_classifier_shape(source->arch, source->adapter.kind, config);
    source->names = hf_names(source->arch, config);
    source->tensors = tensors_by_name(&source->names, source->file, error);
    if (source->tensors == NULL)
        return fail_context(error, "%s", base);
    take_embedding(source, config->tie_embeddings);
    if (adapts && !hf_adapter_join(&source->adapter, &source->names, source->tensors, config, error))
        return fail_context(error, "%s", folder);
    infer(source, config);
    return !classifies || take_classifier(source, config, error) || fail_context(error, "%s", folder);
}

static void source_close(Source *source)
{
    hf_adapter_close(&source->adapter);
    g_clear_pointer(&source->tensors, g_hash_table_unref);
    g_clear_pointer(&source->file, tensor_file_close);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Source, source_close)

bool hf_shape(const char *folder, ModelConfig *config, GError **error)
{
    ModelConfig read = { 0 };
    g_auto(Source) source = { 0 };
    if (!source_open(&source, folder, &read, error))
        return false;
    *config = model_config_copy(&read);
    return true;
}

/* Ignores a pooler that the model's classifier does not read: transformers before 4.0 stored one with each. */
static void leave_pooler_out(const Source *source, const ModelConfig *config)
{
    static const char *const unread[] = { "pooler", "pooler.bias" };
    g_autoptr(GString) left = g_string_new(NULL);
    for (size_t i = 0; i < G_N_ELEMENTS(unread); i++) {
        g_autofree char *theirs = NULL;
        if (config->classifier != LABELS_NONE && !config->pooler &&
            tensor_name_of(&source->names, unread[i], &theirs) && g_hash_table_remove(source->tensors, theirs))
            g_string_append_printf(left, "%s%s", left->len ? ", " : "", theirs);
    }
    if (left->len)
        log_info("left out, since model.classifier=%s does not read it: %s", label_kind_names[config->classifier],
                 left->str);
}

static bool read_roles(const Source *source, const char *folder, Model *model, GError **error)
{
    const char *base = source->adapter.base ? source->adapter.base : folder; /* with config.json */
    json_t **sentence = &model_roles(model)->sentence;
    return hf_roles_read(base, source->arch, model_config(model), model_roles(model), error) &&
           hf_sentence_read(folder, sentence, error) && (*sentence || hf_sentence_read(base, sentence, error));
}

void hf_warn_missing_tokenizer(const char *folder)
{
    g_autoptr(GError) reason = NULL;
    g_autofree char *tokenizer = tokenizer_find(folder, NULL, &reason),
                    *of_base = tokenizer ? NULL : hf_find_tokenizer(folder, NULL);
    if (tokenizer == NULL && of_base == NULL)
        log_warning("weights only, texts need a tokenizer of their own: %s", reason->message);
}

Model *hf_import(Device *dev, const char *folder, bool gradients, GError **error)
{
    ModelConfig config = { 0 };
    g_auto(Source) source = { 0 };
    if (!source_open(&source, folder, &config, error))
        return NULL;
    warn_missing_head(&source, &config);
    leave_pooler_out(&source, &config);
    g_autoptr(Model) model =
        tensor_names_open_model(&source.names, source.tensors, SHAPED_BY, dev, &config, gradients, error);
    if (model == NULL)
        return fail_context(error, "%s", folder);
    if (!read_roles(&source, folder, model, error))
        return NULL;
    return g_steal_pointer(&model);
}

bool hf_load(Model *to, const char *folder, HfSameFn same, bool *loaded, GError **error)
{
    ModelConfig config = { 0 };
    g_auto(Source) source = { 0 };
    *loaded = false;
    if (!source_open(&source, folder, &config, error))
        return false;
    if (!same(model_config(to), &config))
        return true;
    warn_missing_head(&source, &config);
    leave_pooler_out(&source, &config);
    if (!tensor_names_load(&source.names, source.tensors, SHAPED_BY, to, error))
        return fail_context(error, "%s", folder);
    *loaded = read_roles(&source, folder, to, error);
    return *loaded;
}

/* ---- the base model of adapters ---- */

/* Largest relative error of an f32 that was rounded to a file's dtype; 0 if the dtype holds it exactly. */
static float rounding_of(const FileTensor *tensor)
{
    return strcmp(tensor->dtype, "BF16") == 0 ? 0x1p-8F : strcmp(tensor->dtype, "F16") == 0 ? 0x1p-11F : 0;
}

/* *same: whether parameter number `index` has the values of its tensor in the file, rounded to the tensor's dtype. */
static bool compare_param(const Source *base, ParamStore *params, int index, bool *same, GError **error)
{
    const ParamSpec *spec = params_spec(params, index);
    const FileTensor *tensor = find_param(base, spec->name);
    int64_t shape[2], n = spec->rows * MAX(spec->cols, 1);
    g_autofree char *theirs = NULL;
    const TensorName *name = tensor_name_of(&base->names, spec->name, &theirs);
    int rank = name ? tensor_name_shape(name, spec, shape) : 0;
    *same = tensor && tensor->rank == rank && memcmp(tensor->shape, shape, sizeof *shape * (size_t)rank) == 0;
    if (!*same)
        return true;
    g_autofree float *ours = g_new(float, (gsize)n), *read = g_new(float, (gsize)n);
    params_read(params, index, NULL, DT_F32, ours);
    if (!tensor_name_read(tensor, name, spec, 0, spec->rows, read, error))
        return false;
    const float relative = rounding_of(tensor), absolute = relative > 0 ? 0x1p-25F : 0; /* half the smallest f16 */
    for (int64_t i = 0; i < n && *same; i++)
        *same = !(fabsf(ours[i] - read[i]) > relative * fabsf(ours[i]) + absolute);
    return true;
}

static bool check_frozen(const Source *base, const ModelConfig *fitted, const char *folder, Model *model,
                         GError **error)
{
    ParamStore *params = model_params(model);
    g_autoptr(GHashTable) compared = hf_parameter_names(fitted);
    bool same = true;
    for (int i = 0; i < params_count(params); i++) {
        const ParamSpec *spec = params_spec(params, i);
        if (lora_trains(fitted, spec) || !g_hash_table_contains(compared, spec->name))
            continue;
        if (!compare_param(base, params, i, &same, error))
            return false;
        if (!same)
            return fail_user(error,
                             "%s of the model differs from that of the base model %s, and a folder of adapters does "
                             "not hold it: name the model that was adapted, or write the whole model with --to hf",
                             spec->name, folder);
    }
    return true;
}

bool hf_check_base(Model *model, const HfArchitecture *arch, const ModelConfig *fitted, const char *folder,
                   GError **error)
{
    g_auto(Source) base = { .arch = arch, .names = hf_names(arch, fitted) };
    base.file = weights_open(folder, error);
    base.tensors = base.file ? tensors_by_name(&base.names, base.file, error) : NULL;
    if (!base.tensors)
        return false;
    take_embedding(&base, fitted->tie_embeddings);
    take_second_bias(&base);
    return check_frozen(&base, fitted, folder, model, error);
}
