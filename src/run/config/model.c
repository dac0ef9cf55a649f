/* model.c: opens the model of a configuration: its parameters among the ranks, its stages, its frozen parameters. */
#include "base/text.h"
#include "data/data_config.h"
#include "eval/answer_batch.h"
#include "run/config/config.h"
#include "run/task_set.h"

#include <string.h>

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

/* ---- whether evaluations between steps generate answers, and how long these may be, so that the memory plan of a run
 * includes generation ---- */

#define MOST_TOKENS 128 /* longest answer if data.target_length is 0 */

int64_t config_answer_length(const Config *config)
{
    const DataConfig *data = &config->data;
    const int64_t half = MAX(data->input_length / 2, 1);
    if (data->target_length == 0)
        return MIN(MOST_TOKENS, half);
    /* Runs of earlier versions of loam may have targets that leave no token to the input of a decoder-only model. */
    return config->model.n_enc == 0 && data->target_length >= data->input_length ? half : data->target_length;
}

void config_share_length(Config *config)
{
    DataConfig *data = &config->data;
    if (config->model.n_enc > 0 || config->model.classifier != LABELS_NONE)
        return;
    config->most_target = data->target_length;
    data->target_length = MIN(data->target_length, MAX(data->input_length / 2, 1));
}

/* Whether the task of the options task.* has held-out examples. Also true if its files cannot be read: the run then
 * fails with an error anyway. */
static bool own_is_scored(const TaskConfig *config)
{
    Task task;
    g_auto(TaskFile) train = { 0 }, valid = { 0 };
    return !task_configure(&task, config, NULL) || !task_files(&task, config, &train, &valid, NULL) || valid.path;
}

/* Whether one of the datasets of data.valid was made from a task (run/task_set.h). */
static bool set_is_scored(const char *valid)
{
    g_autofree char *list = language_weights_is(valid) ? language_weights_list(valid, true, NULL) : g_strdup(valid);
    g_auto(GStrv) items = text_list(list);
    bool found = false;
    for (char **item = items; *item && !found; item++) {
        TaskConfig config = { 0 };
        const char *text = *item;
        const size_t n = sources_valid_name(text);
        task_set_read(n > 0 ? text + n + 1 : text, &config, &found, NULL);
        task_set_clear(&config);
    }
    return found;
}

static bool writes_answers(const Config *config)
{
    if (config->model.n_dec == 0 || config->task.classifies ||
        (!config->train.scores && strcmp(config->train.best, "loss") == 0))
        return false;
    return task_is_set(&config->task) ? own_is_scored(&config->task) : set_is_scored(config->data.valid);
}

static void set_answers(const Config *config, Model *model)
{
    /* Longest prompt. A decoder-only model has prompt and answer in one sequence; a prompt has at least one token. */
    const int64_t longest = config_answer_length(config),
                  length = MAX(config->data.input_length - (config->model.n_enc > 0 ? 0 : longest), 1);
    if (writes_answers(config))
        model_set_answers(model, ANSWER_BATCH, (int32_t)length, (int32_t)longest);
}

/* ---- the model ---- */

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
    g_auto(GStrv) patterns = text_list(config->train.freeze);
    Model *model =
        model_open_stages(dev, &config->model, stages, true, (const char *const *)patterns, &shards, &pipeline, error);
    if (model && pipeline.size == 1 && !check_frozen(model, patterns, error))
        g_clear_pointer(&model, model_close);
    if (model)
        set_answers(config, model);
    return model;
}
