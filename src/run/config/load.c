/* load.c: a configuration from its sources, in stages: config_load, and with the tokenizer config_resolve. */
#include "base/log.h"
#include "base/text.h"
#include "model/hf/hf.h"
#include "run/config/layers.h"
#include "run/run_dir.h"

#include <inttypes.h>
#include <string.h>

#define MAX_COMPAT_SAMPLES 1e12 /* upper limit of the option */

/* Computes data.compat_samples and data.compat_batch, if they are unset, from train.length and train.micro_batch. */
static bool resolve_compat(Config *config, GError **error)
{
    DataConfig *data = &config->data;
    Amount length = config->train.length;
    if (data->compat == COMPAT_FAIRSEQ && data->compat_batch.value == 0) {
        if (config_micro_is_auto(config))
            return fail_user(error, "data.compat=fairseq: its order depends on the size of its batches, which "
                                    "train.micro_batch=auto leaves open; set data.compat_batch, or train.micro_batch "
                                    "to a number");
        data->compat_batch = config->train.micro_batch;
    }
    if (data->compat != COMPAT_MEGATRON || data->compat_samples > 0)
        return true;
    if (length.unit == UNIT_EPOCHS || length.unit == UNIT_SECONDS)
        return fail_user(error, "data.compat=megatron: its order depends on the number of samples of the run; give "
                                "train.length in steps, samples or tokens, or set data.compat_samples");
    double samples = length.unit == UNIT_STEPS ? length.value * (double)config_batch_samples(config)
                                               : (double)config_samples(config, length, 0);
    data->compat_samples = (int64_t)MIN(samples, MAX_COMPAT_SAMPLES);
    return true;
}

void config_fit_model(Config *config, const ModelConfig *model)
{
    config->data.decoder_alone = model->n_enc == 0;
    config->data.memory_tokens = model->memory_tokens;
    config->data.label_kind = model->classifier;
    config->data.n_labels = model->classifier == LABELS_SPAN ? 0 : model_config_outputs(model);
    config->data.labels = model->labels;
    config->data.token_types = model->token_types > 1;
    config->data.prefix_lm = model->prefix_lm;
    config->task.classifies = model->classifier != LABELS_NONE;
    config->task.classes = labels_have_names((LabelKind)model->classifier) ? model->labels : NULL;
}

TaskEncoder config_task_encoder(const Config *config, const ModelConfig *model, const Task *task, const Tokenizer *tok)
{
    return (TaskEncoder){ .task = task,
                          .config = &config->task,
                          .tok = tok,
                          .input_length = config->data.input_length,
                          .target_length = config->data.target_length,
                          .joined = model->n_enc == 0,
                          .frame = model_text_frame(model, tok),
                          .labels = model->labels };
}

bool config_fit_lengths(Config *config, const Tokenizer *tok, GError **error)
{
    DataConfig *data = &config->data;
    TaskLengths longest;
    Task task;
    if (config->most_target == 0 || !(*config->task.data || *config->task.valid))
        return true;
    if (!task_configure(&task, &config->task, error))
        return false;
    const TaskEncoder encoder = config_task_encoder(config, &config->model, &task, tok);
    if (!task_measure(&encoder, &longest, error))
        return false;
    const int64_t left = data->input_length - longest.input,
                  needed = MIN(longest.target, MAX(data->input_length / 2, 1));
    data->target_length = MIN(config->most_target, MAX(left, needed));
    return true;
}

/* If a classifier of a task has no model.labels, takes class names from the task's definition or its examples. */
static bool resolve_labels(Config *config, GError **error)
{
    ModelConfig *model = &config->model;
    bool classes = model->classifier == LABELS_SEQUENCE || model->classifier == LABELS_TOKENS;
    Task task;
    if (!classes || *model->labels || !task_is_set(&config->task))
        return true;
    char *labels =
        task_configure(&task, &config->task, error) ? task_collect_labels(&task, &config->task, error) : NULL;
    if (labels == NULL)
        return false;
    g_free(model->labels);
    model->labels = labels;
    config->task.labels_from = task.labels ? NULL : config->task.data;
    return true;
}

bool config_is_given(char **overrides, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (g_str_has_prefix(overrides[i], name) && overrides[i][strlen(name)] == '=')
            return true;
    return false;
}

void config_fit_task(Config *config, char **overrides, int n_overrides)
{
    const bool on_text =
        config_is_given(overrides, n_overrides, "data.objective") && !data_objective_row(&config->data)->pairs;
    if (!task_is_set(&config->task) || config->data.target_length > 0 || config->task.classifies || on_text)
        return;
    g_autoptr(GPtrArray) of_task = option_settings_new();
    recipe_add_task(&config->task, &config->model, of_task);
    int64_t input = g_ascii_strtoll(option_settings_find(of_task, "data.input_length"), NULL, 10);
    config->data.target_length = g_ascii_strtoll(option_settings_find(of_task, "data.target_length"), NULL, 10);
    if (!config_is_given(overrides, n_overrides, "data.input_length"))
        config->data.input_length =
            model_config_bounds_length(&config->model) ? MIN(input, config->model.max_positions) : input;
    config_share_length(config);
}

/* Where the value of an option comes from; "" means that no layer sets it. */
static const char *origin_of(const GPtrArray *layers, const char *name)
{
    const char *origin = "";
    for (guint i = 0; i < layers->len; i++) {
        const OptionSetting *setting = layers->pdata[i];
        if (strcmp(setting->name, name) == 0)
            origin = setting->origin;
    }
    return origin;
}

/* Records whether model.labels was taken from the model of train.init, for error messages about labels. */
static void note_origin(Config *config, const GPtrArray *layers)
{
    const char *origin = origin_of(layers, "model.labels");
    bool of_init = *config->train.init && strcmp(origin, config->train.init) == 0;
    config->task.labels_from = of_init ? config->train.init : NULL;
}

/* Leaves a vocabulary that only the preset sets to the tokenizer. */
static void free_vocab(Config *config, const GPtrArray *layers)
{
    g_autofree char *preset = g_strconcat("preset ", config->model.preset, NULL);
    if (strcmp(origin_of(layers, "model.vocab"), preset) != 0)
        return;
    config->preset_vocab = config->model.vocab;
    if (*config->tokenizer.path)
        config->model.vocab = 0;
}

static bool apply_layers(Config *config, const GPtrArray *layers, GError **error)
{
    if (!options_apply(config_options(), config, layers, error))
        return false;
    config->task.classifies = config->model.classifier != LABELS_NONE;
    note_origin(config, layers);
    free_vocab(config, layers);
    return hf_resolve_targets(&config->model, error);
}

/* Sets what follows from other options, whatever was given. */
static void derive(Config *config)
{
    config->model.prefix_lm |=
        config->model.n_enc == 0 && strcmp(data_objective_row(&config->data)->name, "prefix_lm") == 0;
    config->model.architecture = (int)model_config_architecture(&config->model);
    config_fit_model(config, &config->model);
}

void config_clear(Config *config)
{
    options_clear(config_options(), config);
    g_clear_pointer(&config->given, g_strfreev);
}

/* Whether sentinels must be added to the tokenizer: for an encoder-decoder model, and for an encoder-only model if the
 * tokenizer has no mask token. */
static bool needs_sentinels(const Config *config, const Tokenizer *tok)
{
    const ModelConfig *model = &config->model;
    bool masks = tokenizer_role(tok, ROLE_MASK) >= 0;
    bool room = model->vocab == 0 || model->vocab >= tokenizer_size(tok) + config->tokenizer.sentinels;
    return room && model->n_enc > 0 && (model->n_dec > 0 || !masks);
}

/* Fails because the tokenizer cannot be opened. If the run took its path from the model of train.init, which is gone,
 * the run's own copy can be used. */
static Tokenizer *fail_tokenizer(const Config *config, GError **error)
{
    const char *init = config->train.init;
    const bool given = config->given && g_strv_contains((const char *const *)config->given, "tokenizer.path");
    g_autofree char *run = *config->run.dir && *init && !given ? run_of(config->run.dir) : NULL,
                    *own = run ? tokenizer_find(run, NULL, NULL) : NULL, *word = run ? text_shell_word(run) : NULL;
    fail_context(error, "tokenizer.path");
    if (own && !g_file_test(init, G_FILE_TEST_EXISTS))
        fail_context(error,
                     "train.init %s is gone, which the run took its tokenizer from; `loam train %s` goes on "
                     "with the run's own copy",
                     init, word);
    return NULL;
}

Tokenizer *config_open_tokenizer(const Config *config, GError **error)
{
    g_autoptr(Tokenizer) tok = tokenizer_open(config->tokenizer.path, error);
    if (!tok)
        return fail_tokenizer(config, error);
    if (config->model.vocab > 0)
        tokenizer_fit(tok, config->model.vocab);
    const bool needs = needs_sentinels(config, tok);
    if (needs && tokenizer_sentinels(tok) == 0 && tokenizer_id(tok, "<extra_id_0>") >= 0)
        return fail_user(error,
                         "the tokenizer %s has a piece <extra_id_0>, but not the other sentinels, which this "
                         "model needs",
                         tokenizer_path(tok));
    if (needs)
        tokenizer_add_sentinels(tok, (int)config->tokenizer.sentinels);
    if (*config->tokenizer.blanks && !tokenizer_set_blanks(tok, config->tokenizer.blanks, error))
        return fail_context(error, "tokenizer.blanks");
    return g_steal_pointer(&tok);
}

/* Sets model.vocab where it depends on the tokenizer, and says if the preset has another. */
static void choose_vocab(Config *config, const Tokenizer *tok)
{
    ModelConfig *model = &config->model;
    const int64_t size = tok ? tokenizer_size(tok) : 0, multiple = model->vocab_multiple,
                  rounded = (size + multiple - 1) / multiple * multiple, preset = config->preset_vocab;
    const bool is_preset = preset > 0 && (tok == NULL || (size <= preset && preset <= rounded));
    model->vocab = is_preset ? preset : rounded;
    if (tok == NULL)
        log_info("model.vocab is %" PRId64 ", as in the preset %s: there is no tokenizer to take it from", preset,
                 model->preset);
    else if (preset > rounded)
        log_info("model.vocab is %" PRId64 ": the %" PRId64 " ids of the tokenizer, rounded up; the preset %s has "
                 "%" PRId64 " (model.vocab=%" PRId64 " asks for as many)",
                 rounded, size, model->preset, preset, preset);
    else if (preset > 0 && !is_preset)
        log_info("model.vocab is %" PRId64 ": the %" PRId64 " ids of the tokenizer, rounded up; the preset %s has "
                 "%" PRId64,
                 rounded, size, model->preset, preset);
    config->preset_vocab = 0;
}

/* Replaces model.vocab = auto by the tokenizer's size rounded up to a multiple of model.vocab_multiple, or by the
 * vocabulary of a preset that is between the two. tok NULL: the vocabulary of the preset, if there is one. */
static bool resolve_vocab(Config *config, const Tokenizer *tok, GError **error)
{
    ModelConfig *model = &config->model;
    int size = tok ? tokenizer_size(tok) : 0;
    if (model->vocab == 0 && tok == NULL && config->preset_vocab == 0)
        return fail_user(error, "model.vocab is auto and there is no tokenizer to take it from: set tokenizer.path, or "
                                "model.vocab to a number");
    if (model->vocab == 0 || config->preset_vocab > 0)
        choose_vocab(config, tok);
    return model->vocab >= size ||
           fail_user(error,
                     "model.vocab %" PRId64 " is smaller than the tokenizer's %d ids (sentinels included); use auto or "
                     "at least %d",
                     model->vocab, size, size);
}

bool config_plan_vocab(Config *config, Tokenizer **tok, GError **unread, GError **error)
{
    g_autoptr(GError) reason = NULL;
    *tok = *config->tokenizer.path ? config_open_tokenizer(config, &reason) : NULL;
    if (reason && config->model.vocab == 0 && config->preset_vocab == 0)
        return fail_with(error, g_steal_pointer(&reason));
    *unread = g_steal_pointer(&reason);
    return resolve_vocab(config, *tok, error);
}

bool config_load(Config *config, const char *path, char **overrides, int n_overrides, GError **error)
{
    options_set_defaults(config_options(), config);
    g_autoptr(GPtrArray) layers = layers_read(path, overrides, n_overrides, &config->given, error);
    const bool good = layers && apply_layers(config, layers, error) && recipe_apply(config, layers, error) &&
                      resolve_labels(config, error) && config_check(config, error) && resolve_compat(config, error);
    if (good)
        derive(config);
    return good;
}

bool config_resolve(Config *config, Tokenizer **tok, GError **error)
{
    return config_check_objective(&config->data, &config->model, error) &&
           (*tok = config_open_tokenizer(config, error)) && resolve_vocab(config, *tok, error) &&
           config_fit_lengths(config, *tok, error) && config_check_tokens(config, *tok, error) &&
           config_resolve_precision(config, error);
}
