/* load.c: reads a configuration, opens the model and the tokenizer that it names, and sets options that depend on
 * these. */
#include "base/log.h"
#include "model/hf/hf.h"
#include "model/pipeline/pipeline.h"
#include "model/special_tokens/special_tokens.h"
#include "nn/ctx.h"
#include "run/config/config.h"
#include "run/config/layers.h"
#include "run/config/recipe.h"

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

/* Fails if a pattern of train.freeze matches no parameter, or if all parameters are frozen. */
static bool check_frozen(Model *model, char **patterns, GError **error)
{
    ParamStore *params = model_params(model);
    int n = params_count(params), frozen = 0;
    for (char **pattern = patterns; *pattern; pattern++) {
        bool found = false;
        for (int i = 0; i < n && !found; i++)
            found = g_pattern_match_simple(*pattern, params_spec(params, i)->name);
        if (!found)
            return fail_user(error, "train.freeze: no parameter is called %s; `loam inspect checkpoint` lists them",
                             *pattern);
    }
    for (int i = 0; i < n; i++)
        frozen += params_spec(params, i)->frozen;
    return frozen < n || fail_user(error, "train.freeze: nothing is left to train");
}

/* How the parameters are divided among ranks. Without a mesh: a single rank on a real device; on the null device one of
 * the planned ranks, whose memory is counted. */
static Sharding ranks_of(const Config *config, const Device *dev)
{
    const ParallelConfig *parallel = &config->parallel;
    const Mesh *mesh = parallel->mesh;
    if (mesh == NULL && dev->computes)
        return (Sharding){ .size = 1 };
    int tensor = (int)parallel->tensor, replicas = (int)MAX(parallel->ranks / (tensor * parallel->pipeline), 1);
    int copies = config_key_copies(config);
    if (mesh == NULL)
        return (Sharding){ .size = replicas,
                           .level = (ZeroLevel)parallel->zero,
                           .tp = { .size = tensor, .sequence = parallel->sequence, .n_copies = copies },
                           .cp = { .size = (int)parallel->context } };
    return (Sharding){
        .ranks = mesh->replicas,
        .rank = comm_rank(mesh->replicas),
        .size = comm_size(mesh->replicas),
        .level = (ZeroLevel)parallel->zero,
        .pipeline = comm_size(mesh->pipeline) > 1 ? mesh->pipeline : NULL,
        .tp = { .ranks = mesh->tensor,
                .rank = comm_rank(mesh->tensor),
                .size = comm_size(mesh->tensor),
                .sequence = parallel->sequence,
                .n_copies = copies,
                .copies = mesh->copies },
        .cp = { .ranks = mesh->context, .rank = comm_rank(mesh->context), .size = comm_size(mesh->context) }
    };
}

static Sharding sharding_of(const Config *config, const Device *dev)
{
    Sharding shards = ranks_of(config, dev);
    optimizer_units(&config->optim, shards.units);
    return shards;
}

/* The place of this rank in its pipeline; without a mesh, on the null device, that of the rank whose memory is counted
 * (parallel.stage). The stages are not set yet. */
static Pipeline pipeline_of(const Config *config, const Device *dev)
{
    const ParallelConfig *parallel = &config->parallel;
    const Mesh *mesh = parallel->mesh;
    Pipeline pipeline = { .size = 1 };
    if (mesh) {
        pipeline.mesh = mesh;
        pipeline.rank = comm_rank(mesh->pipeline);
        pipeline.size = comm_size(mesh->pipeline);
    } else if (!dev->computes) {
        pipeline.rank = parallel->stage;
        pipeline.size = (int)parallel->pipeline;
    }
    pipeline.interleave = pipeline.size > 1 ? (int)parallel->interleave : 1;
    return pipeline;
}

void config_set_slots(const Config *config, Model *model)
{
    int n;
    g_autofree int *counts = config_microbatches(config, &n);
    model_set_counts(model, counts, n);
}

Model *config_open_model(const Config *config, Device *dev, GError **error)
{
    const Sharding shards = sharding_of(config, dev);
    Pipeline pipeline = pipeline_of(config, dev);
    const bool divided = pipeline.size > 1;
    g_autofree int *equal = divided ? config_equal_stages(config) : NULL,
                   *ends = divided ? config_stage_ends(config, equal, error) : NULL,
                   *counts = divided ? config_microbatches(config, &pipeline.n_counts) : NULL;
    if (divided && ends == NULL)
        return NULL;
    pipeline.ends = ends;
    pipeline.counts = counts;
    const Stages stages = divided ? pipeline_held(&pipeline, pipeline.rank) : stage_whole(&config->model);
    g_auto(GStrv) patterns = g_strsplit(config->train.freeze, ",", -1);
    for (char **pattern = patterns; *pattern; pattern++)
        g_strstrip(*pattern);
    Model *model =
        model_open_stages(dev, &config->model, stages, true, (const char *const *)patterns, &shards, &pipeline, error);
    if (model && pipeline.size == 1 && !check_frozen(model, patterns, error))
        g_clear_pointer(&model, model_close);
    if (model)
        config_set_answers(config, model);
    return model;
}

/* If a classifier has no model.labels and the run has a task, takes the class names from the task's definition or its
 * examples. */
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

void config_fit_task(Config *config, char **overrides, int n_overrides)
{
    if (!task_is_set(&config->task) || config->data.target_length > 0 || config->task.classifies)
        return;
    g_autoptr(GPtrArray) of_task = option_settings_new();
    recipe_add_task(&config->task, &config->model, of_task);
    int64_t input = g_ascii_strtoll(option_settings_find(of_task, "data.input_length"), NULL, 10);
    config->data.target_length = g_ascii_strtoll(option_settings_find(of_task, "data.target_length"), NULL, 10);
    bool given = false;
    for (int i = 0; i < n_overrides; i++)
        given |= g_str_has_prefix(overrides[i], "data.input_length=");
    if (!given)
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

bool config_load(Config *config, const char *path, char **overrides, int n_overrides, GError **error)
{
    options_set_defaults(config_options(), config);
    g_autoptr(GPtrArray) layers = layers_read(path, overrides, n_overrides, &config->given, error);
    if (layers == NULL || !options_apply(config_options(), config, layers, error))
        return false;
    config->task.classifies = config->model.classifier != LABELS_NONE;
    note_origin(config, layers);
    free_vocab(config, layers);
    if (!hf_resolve_targets(&config->model, error))
        return false;
    if (!layers_apply_recipe(config, layers, error) || !resolve_labels(config, error) || !config_check(config, error) ||
        !resolve_compat(config, error))
        return false;
    config->model.prefix_lm |=
        config->model.n_enc == 0 && strcmp(data_objective_row(&config->data)->name, "prefix_lm") == 0;
    config->model.architecture = (int)model_config_architecture(&config->model);
    config_fit_model(config, &config->model);
    return true;
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

Tokenizer *config_open_tokenizer(const Config *config, GError **error)
{
    g_autoptr(Tokenizer) tok = tokenizer_open(config->tokenizer.path, error);
    if (!tok) {
        fail_context(error, "tokenizer.path");
        return NULL;
    }
    if (needs_sentinels(config, tok))
        tokenizer_add_sentinels(tok, (int)config->tokenizer.sentinels);
    if (*config->tokenizer.blanks && !tokenizer_set_blanks(tok, config->tokenizer.blanks, error)) {
        fail_context(error, "tokenizer.blanks");
        return NULL;
    }
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

bool config_resolve_vocab(Config *config, const Tokenizer *tok, GError **error)
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
    if (reason && config->model.vocab == 0 && config->preset_vocab == 0) {
        g_propagate_error(error, g_steal_pointer(&reason));
        return false;
    }
    *unread = g_steal_pointer(&reason);
    return config_resolve_vocab(config, *tok, error);
}
