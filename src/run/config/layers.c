#include "run/config/layers.h"

#include "base/file.h"
#include "data/data_config.h"
#include "model/hf/hf.h"
#include "run/model_path.h"
#include "run/run_dir.h"

#include <string.h>

/* The value, in which paths that begin with the folder `was` begin with `now`. g_free. */
static char *follow_folder(const char *value, const char *was, const char *now)
{
    GString *text = g_string_new(NULL);
    const size_t n = strlen(was);
    for (const char *at = value; *at;) {
        const bool begins = at == value || strchr(",: ", at[-1]);
        if (begins && strncmp(at, was, n) == 0 && (at[n] == '/' || at[n] == '\0')) {
            g_string_append(text, now);
            at += n;
        } else {
            g_string_append_c(text, *at++);
        }
    }
    return g_string_free(text, false);
}

char *config_of_last_start(const char *dir)
{
    const bool known = io_exists(dir, STARTED);
    return g_build_filename(dir, known ? STARTED : "config.yaml", NULL);
}

/* The saved configuration of a run has absolute paths, and a moved or copied run has its own files with it, such as the
 * examples of its task: paths in its run.dir become paths in the folder that PATH names. */
static void follow_run(GPtrArray *settings, const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path), *last = config_of_last_start(folder),
                    *dir = run_of(strcmp(path, last) == 0 ? folder : path),
                    *now = dir ? sources_resolve_path(dir) : NULL,
                    *was = g_strdup(option_settings_find(settings, "run.dir"));
    for (guint i = 0; now && was && *was == '/' && i < settings->len; i++) {
        OptionSetting *setting = settings->pdata[i];
        g_autofree char *value = setting->value;
        setting->value = value ? follow_folder(value, was, now) : NULL;
    }
}

bool layers_read_file(GPtrArray *settings, const char *path, GError **error)
{
    if (!option_settings_read_yaml(settings, path, error))
        return false;
    option_settings_rename(settings, config_options());
    follow_run(settings, path);
    return true;
}

/* Reads the settings of the YAML file PATH (NULL means none) and then the overrides, under the present names of options
 * that were renamed. NULL on error. */
static GPtrArray *read_settings(const char *path, char **overrides, int n_overrides, GError **error)
{
    GPtrArray *settings = option_settings_new();
    bool good = path == NULL || layers_read_file(settings, path, error);
    for (int i = 0; good && i < n_overrides; i++)
        good = option_settings_parse(settings, overrides[i], error);
    option_settings_rename(settings, config_options());
    if (!good)
        g_clear_pointer(&settings, g_ptr_array_unref);
    return settings;
}

/* If the config.yaml of a run lacks data.plan, an earlier version of loam wrote it, which planned all packed sequences
 * at the start. Adds that value. */
static void add_former_plan(const GPtrArray *saved, GPtrArray *layers)
{
    if (!option_settings_find(saved, "data.plan"))
        option_settings_add(layers, "data.plan", plan_names[PLAN_WHOLE], "a run of an earlier version");
}

/* Options that a run takes from another one's config.yaml: those of its data, or its vocabulary. */
static const char *const of_the_data[] = { "data.objective", "data.input_length", NULL };
static const char *const of_the_vocab[] = { "model.vocab", NULL };
/* Options that a resumed run takes from its own config.yaml unless they are given again, beside recipe_options; and
 * with train.init. */
static const char *const of_a_run[] = { "recipe.", "model.labels", "data.plan", NULL };
static const char *const of_a_start[] = { "recipe.", "model.", "lora.", "tokenizer.path", "data.plan", NULL };

/* Whether a list has the option, or its group: "model."; "recipe." means all recipe_options. */
static bool is_wanted(const char *const *list, const char *name)
{
    bool wanted = false;
    for (; *list && !wanted; list++)
        wanted = strcmp(*list, "recipe.") == 0  ? g_strv_contains(recipe_options, name)
                 : g_str_has_suffix(*list, ".") ? g_str_has_prefix(name, *list)
                                                : strcmp(name, *list) == 0;
    return wanted;
}

/* Appends the settings of DIR/config.yaml that `wanted` lists. */
static bool add_from_run(const char *dir, const char *const *wanted, GPtrArray *layers, GError **error)
{
    g_autofree char *path = g_build_filename(dir, "config.yaml", NULL);
    g_autoptr(GPtrArray) saved = read_settings(path, NULL, 0, error);
    for (guint i = 0; saved && i < saved->len; i++) {
        const OptionSetting *setting = saved->pdata[i];
        if (setting->value && is_wanted(wanted, setting->name))
            option_settings_add(layers, setting->name, setting->value, setting->origin);
    }
    if (saved && is_wanted(wanted, "data.plan"))
        add_former_plan(saved, layers);
    return saved != NULL;
}

/* model.* options not copied from train.init's model: the preset's name, and one that follows from data.objective. */
static const char *const not_of_weights[] = { "model.preset", "model.prefix_lm", NULL };

static void add_shape(const ModelConfig *model, const char *origin, GPtrArray *layers)
{
    for (int i = 0; i < n_model_options; i++) {
        g_autofree char *value = options_plain_value(&model_table, model, &model_options[i]);
        if (!g_strv_contains(not_of_weights, model_options[i].name))
            option_settings_add(layers, model_options[i].name, value, origin);
    }
}

/* Checks that the settings agree with the shape of train.init's model; a model.vocab of auto becomes that model's. */
static bool check_layers_shape(const ModelConfig *start, GPtrArray *layers, const char *init, GError **error)
{
    g_auto(ModelConfig) model = { 0 };
    g_autoptr(GPtrArray) about_model = option_settings_new();
    for (guint i = 0; i < layers->len; i++) {
        const OptionSetting *setting = layers->pdata[i];
        if (g_str_has_prefix(setting->name, "model.") && setting->value)
            option_settings_add(about_model, setting->name, setting->value, setting->origin);
    }
    options_set_defaults(&model_table, &model);
    bool good = options_apply(&model_table, &model, about_model, error);
    if (good && model.vocab == 0) {
        g_autofree char *vocab = g_strdup_printf("%" G_GINT64_FORMAT, start->vocab);
        option_settings_add(layers, "model.vocab", vocab, init);
        model.vocab = start->vocab;
    }
    g_autofree char *differences = good ? model_shape_differences(&model, start) : NULL;
    if (differences)
        return fail_user(error, "train.init %s: %s; leave out the options that differ, which are taken from that model",
                         init, differences);
    return good && (model.classifier != start->classifier || labels_check_renamed(start->labels, model.labels, error));
}

/* Appends model.* and tokenizer.path of the model that train.init names. If that model is a run, also appends its
 * objective and lengths, unless the new run trains on a task, which sets them itself. */
static bool add_start(const char *init, bool task, ModelConfig *start, GPtrArray *layers, GError **error)
{
    g_autofree char *tokenizer = NULL, *run = NULL;
    if ((!task && !model_find_run(&run, init, error)) || !model_shape_path(init, start, &tokenizer, error))
        return fail_context(error, "train.init");
    add_shape(start, init, layers);
    if (tokenizer)
        option_settings_add(layers, "tokenizer.path", tokenizer, init);
    return run == NULL || add_from_run(run, of_the_data, layers, error);
}

/* Whether PATH is the config.yaml of a run, which sets every option. */
static bool is_saved(const char *path)
{
    g_autofree char *run = path ? run_of(path) : NULL;
    return run != NULL;
}

static bool sets_task(const GPtrArray *given)
{
    static const char *const options[] = { "task.name", "task.data", "task.input" };
    for (size_t i = 0; i < G_N_ELEMENTS(options); i++) {
        const char *value = option_settings_find(given, options[i]);
        if (value && *value)
            return true;
    }
    return false;
}

/* Reads PREFIX.json of the first dataset in data.train, which says what kind of labels the dataset has and their names.
 * *meta stays unchanged if there is no such file. */
static bool read_labels(const Config *config, DatasetMeta *meta, GError **error)
{
    double shares[SPLIT_PARTS];
    int part;
    Mixture *mixture = *config->data.train ? mixture_parse(config->data.train, error) : NULL;
    if (mixture == NULL)
        return *config->data.train == '\0';
    const char *first = mixture->paths[0];
    int n = split_read_name(first, &part, shares, NULL);
    g_autofree char *prefix = n > 0 ? g_strndup(first, (gsize)n) : g_strdup(first),
                    *path = g_strconcat(prefix, ".json", NULL);
    mixture_free(mixture);
    return !g_file_test(path, G_FILE_TEST_EXISTS) || dataset_meta_read(meta, path, error);
}

/* Appends the options of a classifier of this kind, and model.labels = `labels` (NULL means that the class names are
 * found later, from the task's examples). A model that has such a classifier with class names keeps them. */
static void add_kind(const ModelConfig *model, LabelKind kind, const char *labels, const char *origin,
                     GPtrArray *layers)
{
    bool again = model->classifier == (int)kind && *model->labels;
    recipe_add_classifier(model, kind, layers);
    if (!again && (labels || model->classifier != LABELS_NONE))
        option_settings_add(layers, "model.labels", labels ? labels : "", origin);
}

/* Appends the options of a classifier if one is needed: for a task with labels and an encoder-only model, or a T5 whose
 * model.classifier is set; for data.objective=labels and an encoder-only model without model.classifier. */
static bool add_classifier(const GPtrArray *given, GPtrArray *layers, GError **error)
{
    g_auto(Config) config = { 0 };
    const char *objective = option_settings_find(given, "data.objective");
    bool task = sets_task(given), labels = objective && strcmp(objective, labels_objective.name) == 0;
    options_set_defaults(config_options(), &config);
    if (!task && (!labels || option_settings_find(given, "model.classifier")))
        return true;
    if (!options_apply(config_options(), &config, layers, error) ||
        !options_apply(config_options(), &config, given, error))
        return false;
    LabelKind kind = task ? task_learns(&config.task) : LABELS_NONE;
    bool asked = config.model.family == FAMILY_T5 && config.model.classifier != LABELS_NONE;
    if (kind != LABELS_NONE && (asked || config.model.family == FAMILY_BERT))
        add_kind(&config.model, kind, NULL, "the task", layers);
    if (task || config.model.family != FAMILY_BERT)
        return true;
    g_auto(DatasetMeta) meta = { 0 };
    bool good = read_labels(&config, &meta, error);
    if (good && meta.label_kind != LABELS_NONE)
        add_kind(&config.model, meta.label_kind, meta.labels, config.data.train, layers);
    return good;
}

static bool is_unset(const GPtrArray *given, const char *option, const char *nothing)
{
    const char *value = option_settings_find(given, option);
    return value == NULL || strcmp(value, nothing) == 0;
}

/* Appends the layers before the projection to the vocabulary if a bare encoder of Hugging Face (BertModel) goes on with
 * an objective on text: its class with a language-model head (BertForMaskedLM) has them, with random weights at first.
 * Not beside adapters, which leave weights as they are. */
static void add_language_head(const GPtrArray *given, const ModelConfig *start, GPtrArray *layers)
{
    const char *init = option_settings_find(given, "train.init"),
               *objective = option_settings_find(given, "data.objective");
    const bool labels = objective && strcmp(objective, labels_objective.name) == 0;
    if (start->family != FAMILY_BERT || start->head_transform || start->classifier != LABELS_NONE ||
        !hf_is_folder(init) || labels || sets_task(given) || !is_unset(given, "lora.rank", "0") ||
        !is_unset(given, "model.classifier", "none") || !is_unset(given, "model.head_transform", "true"))
        return;
    ModelConfig whole = *start;
    hf_add_language_head(&whole);
    g_autoptr(GPtrArray) rows = options_differences(&model_table, start, &whole, OPT_IDENTITY);
    for (guint i = 0; i < rows->len; i++) {
        const OptionRow *row = rows->pdata[i];
        g_autofree char *value = options_plain_value(&model_table, &whole, row);
        option_settings_add(layers, row->name, value, "the language-model head of a bare encoder");
    }
}

/* Appends model.vocab of the run in DIR, as its newest checkpoint records it or, without a record, its config.yaml. */
static bool add_vocab_of_run(const char *dir, GPtrArray *layers, GError **error)
{
    g_auto(RunRecord) record = config_record_of_run(dir);
    const char *vocab = json_string_value(json_object_get(record.options, "model.vocab"));
    if (vocab)
        option_settings_add(layers, "model.vocab", vocab, dir);
    return vocab || !run_has_config(dir) || add_from_run(dir, of_the_vocab, layers, error);
}

/* Appends the settings of model.preset, except a vocabulary that weights of train.init (start; vocab 0 means none) or
 * of the run in DIR (NULL means none) have otherwise. */
static bool add_preset_layers(const GPtrArray *given, const ModelConfig *start, const char *dir, GPtrArray *layers,
                              GError **error)
{
    const char *preset = option_settings_find(given, "model.preset");
    if (preset == NULL || *preset == '\0')
        return true;
    if (!model_preset_settings(preset, layers, error))
        return false;
    if (start->vocab == 0)
        return dir == NULL || *dir == '\0' || add_vocab_of_run(dir, layers, error);
    g_autofree char *vocab = g_strdup_printf("%" G_GINT64_FORMAT, start->vocab);
    option_settings_add(layers, "model.vocab", vocab, option_settings_find(given, "train.init"));
    return true;
}

/* The file that a setting comes from; NULL means the command line. g_free. */
static char *setting_file(const OptionSetting *setting)
{
    const char *colon = strrchr(setting->origin, ':');
    return colon ? g_strndup(setting->origin, (gsize)(colon - setting->origin)) : NULL;
}

/* The files (a set of paths) that set more than half of all options. No person chose each of these values: `loam plan
 * --options` wrote the file, or it is a copy of a run's config.yaml. */
static GHashTable *whole_files(const GPtrArray *settings)
{
    GHashTable *files = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    int n_options = 0;
    while (options_at(config_options(), n_options))
        n_options++;
    for (guint i = 0; i < settings->len; i++) {
        char *file = setting_file(settings->pdata[i]);
        int count = file ? GPOINTER_TO_INT(g_hash_table_lookup(files, file)) : 0;
        if (file)
            g_hash_table_insert(files, file, GINT_TO_POINTER(count + 1));
    }
    GHashTableIter iter;
    gpointer count;
    g_hash_table_iter_init(&iter, files);
    while (g_hash_table_iter_next(&iter, NULL, &count))
        if (2 * GPOINTER_TO_INT(count) <= n_options)
            g_hash_table_iter_remove(&iter);
    return files;
}

/* Names of the options that the user set on the command line or in a file, except in whole_files. */
static char **setting_names(const GPtrArray *settings)
{
    g_autoptr(GStrvBuilder) names = g_strv_builder_new();
    g_autoptr(GHashTable) whole = whole_files(settings);
    for (guint i = 0; i < settings->len; i++) {
        const OptionSetting *setting = settings->pdata[i];
        g_autofree char *file = setting_file(setting);
        if (file == NULL || !g_hash_table_contains(whole, file))
            g_strv_builder_add(names, setting->name);
    }
    return g_strv_builder_end(names);
}

/* A resumed run keeps the classifier that it has, even if the recipe builds another for its model today: gives the
 * settings of `layers` from `first` on, which make up a classifier, the values of DIR/config.yaml, unless the run's
 * classifier is of another kind. */
static bool keep_classifier(const char *dir, GPtrArray *layers, guint first, GError **error)
{
    static const char kind[] = "model.classifier";
    g_autofree char *path = g_build_filename(dir, "config.yaml", NULL);
    if (first == layers->len)
        return true;
    g_autoptr(GPtrArray) saved = read_settings(path, NULL, 0, error);
    bool same = saved && g_strcmp0(option_settings_find(saved, kind), option_settings_find(layers, kind)) == 0;
    for (guint i = first; same && i < layers->len; i++) {
        OptionSetting *setting = layers->pdata[i];
        const char *value = option_settings_find(saved, setting->name);
        g_autofree char *was = setting->value;
        setting->value = g_strdup(value ? value : was);
    }
    return saved != NULL;
}

/* If the command line gives a task's run an objective on text, the stored length of its targets does not apply. */
static void forget_targets(const GPtrArray *given)
{
    const char *stored = NULL;
    for (guint i = 0; i < given->len; i++) {
        const OptionSetting *setting = given->pdata[i];
        g_autofree char *file = setting_file(setting);
        if (file && strcmp(setting->name, "data.objective") == 0)
            stored = setting->value;
    }
    if (g_strcmp0(stored, seq2seq_objective.name) != 0 ||
        strcmp(option_settings_find(given, "data.objective"), stored) == 0)
        return;
    for (guint i = 0; i < given->len; i++) {
        OptionSetting *setting = given->pdata[i];
        g_autofree char *file = setting_file(setting);
        if (file && strcmp(setting->name, "data.target_length") == 0) {
            g_free(setting->value);
            setting->value = g_strdup("0");
        }
    }
}

GPtrArray *layers_read(const char *path, char **overrides, int n_overrides, char ***names, GError **error)
{
    GPtrArray *given = read_settings(path, overrides, n_overrides, error);
    if (given == NULL)
        return NULL;
    *names = setting_names(given);
    GPtrArray *layers = option_settings_new();
    const char *init = option_settings_find(given, "train.init"), *dir = option_settings_find(given, "run.dir");
    bool saved = dir && *dir && run_has_config(dir);
    bool starts = init && *init, fresh = starts && !saved && !is_saved(path), good = true;
    g_auto(ModelConfig) start = { 0 };
    if (fresh)
        good = add_start(init, sets_task(given), &start, layers, error);
    if (fresh && good)
        add_language_head(given, &start, layers);
    else if (saved && !is_saved(path))
        good = add_from_run(dir, starts ? of_a_start : of_a_run, layers, error);
    if (is_saved(path)) {
        add_former_plan(given, layers);
        forget_targets(given);
    }
    good = good && add_preset_layers(given, &start, dir, layers, error);
    const guint settled = layers->len;
    good = good && add_classifier(given, layers, error) && (!saved || keep_classifier(dir, layers, settled, error));
    g_ptr_array_extend_and_steal(layers, given);
    good = good && (!fresh || check_layers_shape(&start, layers, init, error));
    if (!good)
        g_clear_pointer(&layers, g_ptr_array_unref);
    return layers;
}
