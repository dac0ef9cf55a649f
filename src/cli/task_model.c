#include "cli/task_model.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/generation_config.h"
#include "model/hf/hf.h"
#include "text/tokenizer_json.h"

#include <inttypes.h>
#include <string.h>

#define MOST_DECLARED 1000000 /* a longer model_max_length, such as 10^30, means that there is none */

static bool is_overridden(const char *const *names, char **overrides, int n_overrides)
{
    for (; *names; names++)
        if (config_is_given(overrides, n_overrides, *names))
            return true;
    return false;
}

/* A run's examples are those that it kept at its start, unless other files are named or, to train on, other answers. */
static void use_copy(Config *config, const char *dir, char **overrides, int n_overrides)
{
    static const char *const held_out[] = { "task.data", "task.valid", "task.name", NULL }, *const trained[] = {
        "task.data", "task.name", "task.target", "task.label", "task.references", NULL
    };
    g_autofree char *train = g_build_filename(dir, "task", "train", NULL), *meta = g_strconcat(train, ".json", NULL),
                    *valid = g_strconcat(train, "-valid", NULL);
    if (!is_overridden(held_out, overrides, n_overrides))
        task_use_copy(&config->task, valid);
    if (!is_overridden(trained, overrides, n_overrides) && g_file_test(meta, G_FILE_TEST_EXISTS))
        config->task.trained = g_intern_string(train);
}

char *cli_answer_length(const char *name, const char *value)
{
    const char *dot = strrchr(name, '.');
    static const char *const lengths[] = { "max_tokens", "max_new_tokens", "max_length", NULL };
    g_autofree char *key = g_strdelimit(g_strdup(dot ? dot + 1 : name), "-", '_');
    const bool number = value && *value && value[strspn(value, "0123456789")] == '\0';
    return g_strv_contains(lengths, key)
               ? g_strconcat("data.target_length", number ? "=" : "", number ? value : "", NULL)
               : NULL;
}

/* Fails for an option of an answer's length by its name in other programs: max_new_tokens=20. */
static bool check_length(const char *override, GError **error)
{
    const char *equals = strchr(override, '=');
    g_autofree char *name = equals ? g_strndup(override, (size_t)(equals - override)) : NULL,
                    *length = name ? cli_answer_length(name, equals + 1) : NULL;
    return !length || fail_user(error, "unknown option %s, did you mean %s?", name, length);
}

/* Texts for the classifier of a folder are truncated where its tokenizer_config.json says, as transformers' pipelines
 * do; windows and choices, of which several are read at once, are no longer than their default. */
static bool take_declared_length(Config *config, GError **error)
{
    const LabelKind kind = (LabelKind)config->model.classifier;
    g_autofree char *folder = g_file_test(config->tokenizer.path, G_FILE_TEST_IS_DIR)
                                  ? g_strdup(config->tokenizer.path)
                                  : g_path_get_dirname(config->tokenizer.path);
    json_auto_t *settings = NULL;
    if (kind == LABELS_NONE || !g_file_test(config->tokenizer.path, G_FILE_TEST_EXISTS)) /* "bytes" is no file */
        return true;
    if (!tokenizer_json_read(folder, "tokenizer_config.json", &settings, error))
        return false;
    const json_t *declared = json_object_get(settings, "model_max_length");
    int64_t length = json_is_integer(declared) ? json_integer_value(declared) : 0;
    if (model_config_bounds_length(&config->model))
        length = MIN(length, config->model.max_positions);
    if (kind == LABELS_SPAN || kind == LABELS_CHOICE)
        length = MIN(length, config->data.input_length);
    if (length > 1 && length <= MOST_DECLARED)
        config->data.input_length = length;
    return true;
}

bool cli_model_config(Config *config, const char *path, char **overrides, int n_overrides, GError **error)
{
    g_autofree char *run = NULL, *init = g_strconcat("train.init=", path, NULL);
    if (!model_find_run(&run, path, error))
        return false;
    for (int i = 0; i < n_overrides; i++) {
        if (!check_length(overrides[i], error))
            return false;
        if ((g_str_has_prefix(overrides[i], "model.") && !g_str_has_prefix(overrides[i], "model.labels=")) ||
            g_str_has_prefix(overrides[i], "lora."))
            return fail_user(error,
                             "%s: the model is what %s holds; leave model.* and lora.* options out (model.labels alone "
                             "gives its classes other names)",
                             overrides[i], path);
    }
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    g_ptr_array_add(all, (gpointer) "train.best=loss"); /* train.best of the run may be a score of another task */
    const bool checkpoint = !run && io_exists(path, "state.json");
    if (!run && (hf_is_folder(path) || checkpoint))
        g_ptr_array_add(all, init);
    for (int i = 0; i < n_overrides; i++)
        g_ptr_array_add(all, overrides[i]);
    g_autofree char *saved = run ? g_build_filename(run, "config.yaml", NULL) : NULL;
    if (!config_load(config, saved, (char **)all->pdata, (int)all->len, error))
        return false;
    if (!run && !config_is_given(overrides, n_overrides, "data.input_length") && !take_declared_length(config, error))
        return false;
    if (checkpoint)
        log_info("%s lies in no run, so data.* are the defaults of its %s, except those that are given: "
                 "data.objective=%s, data.input_length=%" PRId64,
                 path, config->model.classifier == LABELS_NONE ? "family" : "head",
                 data_objective_row(&config->data)->name, config->data.input_length);
    if (run) {
        config_fit_task(config, overrides, n_overrides);
        use_copy(config, run, overrides, n_overrides);
    }
    return true;
}

bool cli_open_model(LoadedModel *loaded, const char *path, const Config *config, bool needs_text, char **overrides,
                    int n_overrides, GError **error)
{
    static const char option[] = "model.labels=";
    const Precision precision = config_precision(config);
    const LoadedModelSource source = { .path = path,
                                       .precision = config->train.precision == PRECISION_AUTO ? NULL : &precision,
                                       .otherwise = config->tokenizer.path,
                                       .blanks = config->tokenizer.blanks,
                                       .advice = needs_text ? "give tokenizer.path=FILE" : NULL,
                                       .threads = (int)config->train.threads,
                                       .device = config->train.device };
    if (!loaded_model_open(loaded, &source, error))
        return false;
    token_roles_complete(model_roles(loaded->model), loaded->tok);
    for (int i = 0; i < n_overrides; i++)
        if (g_str_has_prefix(overrides[i], option) &&
            !model_name_classes(loaded->model, overrides[i] + sizeof option - 1, error))
            return false;
    return true;
}

bool task_of_model(Task *task, const Config *config, const LoadedModel *loaded, const char *model_path, GError **error)
{
    if (!task_is_set(&config->task))
        return fail_user(error,
                         "%s was not trained on a task; name one: task.name=NAME (loam task list), or task.input and "
                         "task.target with task.data",
                         model_path);
    const ModelConfig *model = model_config(loaded->model);
    if (model->n_dec == 0 && model->classifier == LABELS_NONE)
        return fail_user(error, "%s has no decoder that writes text, and no classifier: fine-tune it on a task first",
                         model_path);
    if (!task_configure(task, &config->task, error))
        return false;
    return (int)task->learns == model->classifier ||
           fail_user(error, "%s classifies by %s, and the task is of another kind", model_path,
                     label_kind_names[model->classifier]);
}

TaskEncoder task_encoder(const Task *task, const Config *config, const LoadedModel *loaded)
{
    TaskEncoder encoder = config_task_encoder(config, model_config(loaded->model), task, loaded->tok);
    if (encoder.joined)
        encoder.target_length = config_answer_length(config);
    if (model_config(loaded->model)->classifier == LABELS_NONE)
        generation_config_tell_unused(model_roles(loaded->model)->generation);
    return encoder;
}

char *task_settings(const Config *config, const TaskEncoder *encoder, int64_t beams)
{
    const OptionGroup group = { task_options, n_task_options, 0, NULL };
    const OptionTable table = { .groups = &group, .n_groups = 1 };
    GString *text = g_string_new(NULL);
    g_string_append_printf(text, "%" PRId64 " %" PRId64 " %" PRId64, encoder->input_length, encoder->target_length,
                           beams);
    for (int i = 0; i < n_task_options; i++) {
        const char *name = task_options[i].name;
        g_autofree char *value = options_plain_value(&table, &config->task, &task_options[i]);
        if (strcmp(name, "task.data") != 0 && strcmp(name, "task.valid") != 0 && strcmp(name, "task.scores") != 0)
            g_string_append_printf(text, " %s=%s", name, value);
    }
    return g_string_free(text, false);
}

bool ranking_check_options(const char *by, bool no_eos, int64_t beams, GError **error)
{
    if (by && rank_find(by) < 0)
        return fail_user(error, "--rank %s: sum, bytes or tokens", by);
    if (by && beams > 1)
        return fail_user(error, "--beams searches for a text, --rank chooses a label: give one of them");
    return by || !no_eos || fail_user(error, "--no-eos is for --rank");
}

json_t *ranking_logprobs(const Ranking *ranking, const Answer *answer)
{
    json_t *object = answer->label_logprobs ? json_object() : NULL;
    for (guint i = 0; object && ranking->names[i]; i++)
        json_object_set_new(object, ranking->names[i], json_real(answer->label_logprobs[i]));
    return object;
}
