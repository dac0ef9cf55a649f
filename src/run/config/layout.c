/* layout.c: which arrangements of ranks (comm/mesh.h) can train a model. */
#include "model/lora/lora.h"
#include "run/config/config.h"

#include <inttypes.h>

/* A rank's first feed-forward channel is a multiple of this: one Philox draw gives dropout masks of four channels. */
#define CHANNELS 4

/* Why `tensor` ranks cannot divide this model's blocks, as a clause of a message; NULL means that they can. g_free. */
static char *undivided(const ModelConfig *model, int64_t tensor)
{
    const struct {
        const char *name;
        int64_t value, multiple;
    } divided[] = { { "model.heads", model->heads, 1 }, { "model.ffn", model->ffn, CHANNELS } };
    int64_t keys = model_config_kv_heads(model);
    if (model->vocab > 0 && model->vocab < tensor) /* 0: not known yet */
        return g_strdup_printf("the vocabulary has %" PRId64 " tokens", model->vocab);
    for (size_t i = 0; i < G_N_ELEMENTS(divided); i++)
        if (divided[i].value % (tensor * divided[i].multiple) != 0)
            return g_strdup_printf("%s is %" PRId64 ", which is not a multiple of %" PRId64, divided[i].name,
                                   divided[i].value, tensor * divided[i].multiple);
    if (keys % tensor != 0 && tensor % keys != 0)
        return g_strdup_printf("model.kv_heads is %" PRId64 ", which is neither a multiple nor a divisor of %" PRId64,
                               keys, tensor);
    return NULL;
}

static bool check_features(const ModelConfig *model, GError **error)
{
    if (model->context_queries)
        return fail_user(error, "parallel.tensor does not go with model.context_queries, which pool over all heads");
    if (lora_has(&model->lora, "self.qkv") || (model->gated && lora_has(&model->lora, "mlp.wi")))
        return fail_user(error, "parallel.tensor does not go with one adapter for a fused matrix (lora.targets "
                                "self.qkv, or mlp.wi of a gated model): its rows would not be divided by heads");
    return true;
}

/* The largest number of tensor-parallel ranks up to `most` that divides n ranks and the model; at least 1. */
static int64_t nearest_tensor(const ModelConfig *model, int64_t n, int64_t most)
{
    for (int64_t tensor = most; tensor > 1; tensor--) {
        g_autofree char *why = undivided(model, tensor);
        if (n % tensor == 0 && why == NULL)
            return tensor;
    }
    return 1;
}

static bool check_tensor(const Config *config, int64_t ranks, GError **error)
{
    const int64_t tensor = config->parallel.tensor;
    g_autofree char *why =
        ranks % tensor != 0
            ? g_strdup_printf("%s %" PRId64 " rank%s, not a multiple of %" PRId64,
                              config->parallel.pipeline > 1 ? "a stage of the pipeline has" : "the run has", ranks,
                              ranks == 1 ? "" : "s", tensor)
            : undivided(&config->model, tensor);
    g_autofree char *multiple = ranks % tensor != 0
                                    ? g_strdup_printf(", or a number of ranks that is a multiple of %" PRId64,
                                                      tensor * config->parallel.context * config->parallel.pipeline)
                                    : g_strdup("");
    if (why)
        return fail_user(error, "parallel.tensor is %" PRId64 ", and %s: want parallel.tensor=%" PRId64 "%s", tensor,
                         why, nearest_tensor(&config->model, ranks, MIN(tensor, ranks)), multiple);
    return tensor == 1 || check_features(&config->model, error);
}

/* The heads of queries and of keys that a rank has before context-parallel ranks divide them. */
static bool heads_divide(const Config *config, int64_t context)
{
    const int64_t tensor = config->parallel.tensor;
    return config->model.heads / tensor % context == 0 &&
           MAX(model_config_kv_heads(&config->model) / tensor, 1) % context == 0;
}

/* What cannot be computed from a part of the tokens. */
static bool check_context_features(const Config *config, GError **error)
{
    const ModelConfig *model = &config->model;
    const DataConfig *data = &config->data;
    const int64_t shortest =
        data->target_length > 0 ? MIN(data->input_length, data->target_length) : data->input_length;
    const struct {
        bool asked;
        const char *what;
    } refused[] = { { model->context_queries, "model.context_queries, which pool over all tokens" },
                    { model->memory_tokens > 0, "model.memory_tokens" },
                    { model->classifier != LABELS_NONE, "a classifier: its head reads tokens of several ranks" } };
    for (size_t i = 0; i < G_N_ELEMENTS(refused); i++)
        if (refused[i].asked)
            return fail_user(error, "parallel.context does not go with %s", refused[i].what);
    return shortest >= config->parallel.context ||
           fail_user(error, "parallel.context is %" PRId64 ", and samples have %" PRId64 " tokens: each rank needs one",
                     config->parallel.context, shortest);
}

/* ranks: those that parallel.context divides. */
static bool check_context(const Config *config, int64_t ranks, GError **error)
{
    const int64_t context = config->parallel.context, tensor = config->parallel.tensor;
    int64_t nearest = MIN(context, MAX(ranks, 1));
    if (context == 1)
        return true;
    while (ranks % nearest != 0 || !heads_divide(config, nearest))
        nearest--;
    if (nearest < context && !heads_divide(config, context))
        return fail_user(error,
                         "parallel.context is %" PRId64 ", and %s%" PRId64 " heads of queries and %" PRId64
                         " of keys cannot be divided by it: want parallel.context=%" PRId64,
                         context, tensor > 1 ? "each tensor-parallel rank's " : "", config->model.heads / tensor,
                         MAX(model_config_kv_heads(&config->model) / tensor, 1), nearest);
    if (nearest < context)
        return fail_user(error,
                         "parallel.context is %" PRId64 ", and %s %" PRId64 " rank%s, not a multiple of %" PRId64
                         ": want parallel.context=%" PRId64 ", or a number of ranks that is a multiple of %" PRId64,
                         context,
                         tensor * config->parallel.pipeline > 1 ? "parallel.tensor and parallel.pipeline leave"
                                                                : "the run has",
                         ranks, ranks == 1 ? "" : "s", context, nearest, context * tensor * config->parallel.pipeline);
    return check_context_features(config, error);
}

/* Fails if parallel.pipeline does not divide the run's ranks, or exceeds the number of blocks. */
static bool check_pipeline(const Config *config, int ranks, GError **error)
{
    const int64_t stages = config->parallel.pipeline, blocks = config->model.n_enc + config->model.n_dec;
    int64_t nearest = MIN(stages, blocks);
    while (ranks % nearest != 0)
        nearest--;
    return nearest == stages ||
           fail_user(
               error,
               "parallel.pipeline is %" PRId64 ", and the run has %d ranks for %" PRId64
               " blocks: each stage needs as many ranks as every other, and a block; want parallel.pipeline=%" PRId64,
               stages, ranks, blocks, nearest);
}

int *config_stage_ends(const Config *config, const int *equal, GError **error)
{
    const ParallelConfig *parallel = &config->parallel;
    const int stages = (int)(parallel->pipeline * parallel->interleave);
    return *parallel->cuts ? pipeline_cuts(&config->model, parallel->cuts, stages, equal, error)
                           : g_memdup2(equal, sizeof *equal * (gsize)stages);
}

StageTokens config_stage_tokens(const Config *config)
{
    const Objective *objective = data_objective_row(&config->data);
    ObjectiveConfig planned = data_objective(&config->data);
    planned.n_sentinels = (int32_t)config->tokenizer.sentinels;
    if (!objective->plan(&planned, NULL)) /* a user's mistake, which the caller that opens the data reports */
        planned.target_length = planned.input_length;
    const double enc = objective_enc_length(objective, &planned), dec = objective_dec_length(objective, &planned);
    return (StageTokens){ .encoder = enc > 0 ? enc + (double)config->model.memory_tokens : 0,
                          .decoder = dec,
                          .targets = (dec > 0 ? dec : enc) * objective_target_share(objective, &planned) };
}

int *config_equal_stages(const Config *config)
{
    const ParallelConfig *parallel = &config->parallel;
    const StageTokens tokens = config_stage_tokens(config);
    return pipeline_divide(&config->model, (int)parallel->pipeline, (int)parallel->interleave, &tokens);
}

/* Fails if parallel.interleave or parallel.cuts do not go with the pipeline and the blocks. */
static bool check_stages(const Config *config, GError **error)
{
    const int64_t size = config->parallel.pipeline, interleave = config->parallel.interleave,
                  blocks = config->model.n_enc + config->model.n_dec;
    if (interleave > 1 && size == 1)
        return fail_user(error, "parallel.interleave is %" PRId64 ", and there is no pipeline: set parallel.pipeline",
                         interleave);
    if (size * interleave > blocks)
        return fail_user(error,
                         "parallel.interleave is %" PRId64 ", and %" PRId64 " ranks of a pipeline have %" PRId64
                         " blocks, at least one for each of their stages: at most %" PRId64,
                         interleave, size, blocks, blocks / size);
    if (*config->parallel.cuts == '\0')
        return true;
    if (size == 1)
        return fail_user(error, "parallel.cuts is \"%s\", and there is no pipeline: set parallel.pipeline",
                         config->parallel.cuts);
    g_autofree int *equal = config_equal_stages(config), *ends = config_stage_ends(config, equal, error);
    return ends != NULL;
}

/* Every data-parallel rank needs a sample of the steps after a ramp-up; how far a run has come is not known here. */
static bool check_batch(const Config *config, int64_t data, GError **error)
{
    BatchSchedule batches;
    return config_batch_schedule(config, true, &batches, error) &&
           batch_check_ranks(&batches, batches.ramp + 1, 0, data, error);
}

int config_key_copies(const Config *config)
{
    return (int)MAX(config->parallel.tensor / model_config_kv_heads(&config->model), 1);
}

MeshShape config_mesh(const Config *config)
{
    const ParallelConfig *parallel = &config->parallel;
    return (MeshShape){ .tensor = (int)parallel->tensor,
                        .context = (int)parallel->context,
                        .pipeline = (int)parallel->pipeline,
                        .copies = config_key_copies(config),
                        .ring = parallel->interleave > 1 };
}

bool config_check_layout(const Config *config, int ranks, GError **error)
{
    const int64_t tensor = config->parallel.tensor, context = config->parallel.context,
                  pipeline = config->parallel.pipeline, product = tensor * context * pipeline;
    if (ranks > CONFIG_MOST_RANKS)
        return fail_user(error, "%d ranks, want at most %d", ranks, CONFIG_MOST_RANKS);
    if (product == 1)
        return check_stages(config, error) && check_batch(config, ranks, error);
    if (ranks == 1)
        return fail_user(error,
                         "%s is %" PRId64 ", and the run has one rank: set "
                         "parallel.ranks to a multiple of %" PRId64 ", or start loam by mpirun or srun",
                         context > 1 ? "parallel.tensor × parallel.context × parallel.pipeline"
                                     : "parallel.tensor × parallel.pipeline",
                         product, product);
    return check_pipeline(config, ranks, error) && check_stages(config, error) &&
           check_tensor(config, ranks / pipeline, error) && check_context(config, ranks / (tensor * pipeline), error) &&
           check_batch(config, ranks / product, error);
}
