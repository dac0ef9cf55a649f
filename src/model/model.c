#include "model/transformer/transformer.h"

#include "base/check.h"
#include "base/text.h"
#include "model/heads/heads.h"
#include "model/lora/lora.h"

#include <inttypes.h>

enum { SUMS = HEAD_COUNT * XENT_STATS };

/* slots (ranges.n): the number of slots of each stage. */
static void open_slots(Model *model, const int *slots)
{
    workspace_init(&model->work, slots, model->ranges.n);
    model->slots = g_new0(Slot, model->work.n_slots);
    for (int i = 0; i < model->work.n_slots; i++) {
        const ModelStage *stage = model->slots[i].stage = &model->stages[model->work.stage[i]];
        model->slots[i].save = &model->work.save[i];
        stack_pass_init(&model->slots[i].encoder, &stage->encoder);
        stack_pass_init(&model->slots[i].decoder, &stage->decoder);
    }
    model->sending = g_new0(SlotSends, model->work.n_slots);
    model->passes = g_array_new(false, false, sizeof(PipelinePass));
}

static void close_slots(Model *model)
{
    for (int i = 0; i < model->work.n_slots; i++) {
        stack_pass_clear(&model->slots[i].encoder);
        stack_pass_clear(&model->slots[i].decoder);
        stream_close(model->slots[i].with_memory);
        stream_close(model->slots[i].shifted);
    }
    g_free(model->slots);
    g_free(model->sending);
    g_array_unref(model->passes);
    workspace_clear(&model->work, model->dev);
}

void model_set_slots(Model *model, int n_slots)
{
    int slots[STAGES_MOST];
    CHECK(n_slots > 0, "%d slots", n_slots);
    for (int s = 0; s < model->ranges.n; s++)
        slots[s] = n_slots;
    close_slots(model);
    open_slots(model, slots);
}

void model_set_counts(Model *model, const int *counts, int n_counts)
{
    int slots[STAGES_MOST];
    Pipeline pipeline = model->pipeline;
    if (pipeline.size <= 1)
        return;
    pipeline.counts = counts;
    pipeline.n_counts = n_counts;
    pipeline_slots(slots, &pipeline);
    close_slots(model);
    open_slots(model, slots);
}

/* Opens as many slots as the schedule of the pipeline needs; without a pipeline one per stage. */
static void join_pipeline(Model *model, const Pipeline *pipeline)
{
    int slots[STAGES_MOST];
    for (int s = 0; s < model->ranges.n; s++)
        slots[s] = 1;
    if (pipeline && pipeline->size > 1) {
        model->pipeline = *pipeline;
        model->pipeline.ends = g_memdup2(pipeline->ends, sizeof *pipeline->ends * (gsize)pipeline_stages(pipeline));
        model->pipeline.counts = NULL; /* the caller's */
        pipeline_slots(slots, pipeline);
    }
    open_slots(model, slots);
}

/* Opens the blocks of all stages; false if out of memory. */
static bool open_stages(Model *model)
{
    bool ok = true;
    model->stages = g_new0(ModelStage, model->ranges.n);
    for (int s = 0; s < model->ranges.n; s++) {
        ModelStage *stage = &model->stages[s];
        stage->range = model->ranges.range[s];
        ok = stack_init(&stage->encoder, model->dev, &model->config, model->params, stage->range, false) && ok;
        ok = stack_init(&stage->decoder, model->dev, &model->config, model->params, stage->range, true) && ok;
        stage->encoder.fp8 = stage->decoder.fp8 = model->fp8;
        if (model->fp8)
            fp8_compute(model->fp8, stage->range.first * LINEAR_SITES,
                        (stage->range.end - stage->range.first) * LINEAR_SITES);
    }
    return ok;
}

static bool is_frozen(const char *name, const char *const *patterns)
{
    for (; patterns && *patterns; patterns++)
        if (g_pattern_match_simple(*patterns, name))
            return true;
    return false;
}

static bool freeze(const ModelConfig *config, ParamSpec *specs, int n, const char *const *patterns, GError **error)
{
    for (int i = 0; i < n; i++) {
        specs[i].frozen = is_frozen(specs[i].name, patterns) || !lora_trains(config, &specs[i]);
        for (int j = 0; j < i && specs[i].group >= 0; j++)
            if (specs[j].bucket == specs[i].bucket && specs[j].group == specs[i].group &&
                specs[j].frozen != specs[i].frozen)
                return fail_user(error, "%s and %s are stored as one matrix: freeze both, or neither", specs[j].name,
                                 specs[i].name);
    }
    return true;
}

/* Fails if the GPU's kernels cannot compute a model of this configuration. */
static bool check_gpu(const DeviceGpu *gpu, const ModelConfig *config, GError **error)
{
    if (gpu->head_dim > 0 && config->head_dim > gpu->head_dim)
        return fail_user(error,
                         "model.head_dim is %" PRId64 ", GPUs take heads of up to %d channels; "
                         "train.device=cpu takes any",
                         config->head_dim, gpu->head_dim);
    return true;
}

static void *fail_params(const ModelConfig *config, Device *dev, bool gradients, GError **error)
{
    g_autofree char *count = text_grouped(model_config_params(config)),
                    *room = text_bytes(device_memory_available(dev));
    const char *with = gradients ? " and their gradients" : "";
    if (*dev->gpu.name)
        return fail_machine(
            error,
            "%s has %s free, too little for %s parameters%s; bf16 (train.precision, --precision) takes half "
            "of f32, and cpu (train.device, --device) takes no GPU memory",
            dev->gpu.name, room, count, with);
    return fail_machine(error, "no memory for %s parameters%s", count, with);
}

static void check_stages(const ModelConfig *config, const Stages *stages)
{
    for (int s = 0; s < stages->n; s++) {
        const Stage stage = stages->range[s];
        CHECK(stage.first >= 0 && stage.first < stage.end && stage.end <= config->n_enc + config->n_dec &&
                  (s == 0 || stage.first > stages->range[s - 1].end),
              "blocks %d to %d of %d and %d", stage.first, stage.end, (int)config->n_enc, (int)config->n_dec);
    }
}

Model *model_open_stages(Device *dev, const ModelConfig *config, Stages stages, bool gradients,
                         const char *const *frozen, const Sharding *shards, const Pipeline *pipeline, GError **error)
{
    Sharding spread = shards ? *shards : (Sharding){ 0 };
    spread.first_block = BUCKET_BLOCK;
    if (!model_config_check(config, error) || !check_gpu(&dev->gpu, config, error))
        return NULL;
    CHECK(config->vocab > 0, "a model with a vocabulary of %" PRId64, config->vocab);
    check_stages(config, &stages);
    int n_specs;
    g_autofree ParamSpec *specs = model_param_specs(config, stages, &n_specs);
    g_autofree int *uses = model_bucket_uses(config, stages);
    if (!freeze(config, specs, n_specs, frozen, error))
        return NULL;
    if (pipeline)
        pipeline_mark_tied(specs, n_specs, config, pipeline);
    ParamStore *params = params_open_sharded(dev, specs, n_specs, uses, gradients, &spread);
    if (params == NULL)
        return fail_params(config, dev, gradients, error);
    Model *model = g_new(Model, 1);
    *model = (Model){ .dev = dev,
                      .config = model_config_copy(config),
                      .ranges = stages,
                      .frozen = g_strdupv((char **)(gintptr)frozen),
                      .roles = token_roles_none(),
                      .params = params };
    bool in_fp8 = gradients && dev->precision.fp8.scaling != FP8_OFF;
    if (in_fp8)
        model->fp8 = fp8_open(dev, (int)(config->n_enc + config->n_dec) * LINEAR_SITES);
    model->sums = tensor_vector(device_alloc(dev, SUMS * sizeof(double)), DT_F64, SUMS);
    bool ok = open_stages(model);
    for (int bucket = BUCKET_ENCODER; gradients && bucket <= BUCKET_DECODER; bucket++)
        if (uses[bucket] > 1) /* each stage adds to some of its tensors */
            grads_begin_with_zeros(params, bucket);
    join_pipeline(model, pipeline);
    if (!ok || model->sums.p == NULL || (in_fp8 && model->fp8 == NULL)) {
        fail_machine(error, "no memory for the layouts of attention, or the scales of FP8");
        model_close(model);
        return NULL;
    }
    op_fill(dev, model->sums, 0);
    return model;
}

Model *model_open(Device *dev, const ModelConfig *config, bool gradients, GError **error)
{
    return model_open_stages(dev, config, stage_whole(config), gradients, NULL, NULL, NULL, error);
}

Model *model_open_dry(const Model *model, bool gradients)
{
    Device *null = device_open_null_of(model->dev->precision);
    const Sharding own = params_sharding(model->params);
    Sharding one = { .tp = own.tp, .cp = own.cp }; /* one rank with the same part of blocks and tokens, alone */
    one.tp.ranks = one.cp.ranks = NULL;
    Model *dry = model_open_stages(null, &model->config, model->ranges, gradients, (const char *const *)model->frozen,
                                   &one, NULL, NULL);
    CHECK(dry != NULL, "a checked configuration was refused");
    return dry;
}

void model_close(Model *model)
{
    if (model == NULL)
        return;
    close_slots(model);
    device_free(model->dev, model->sums.p);
    for (int i = 0; i < model->ranges.n; i++) {
        stack_clear(&model->stages[i].encoder);
        stack_clear(&model->stages[i].decoder);
    }
    g_free(model->stages);
    g_free((void *)(gintptr)model->pipeline.ends);
    fp8_close(model->fp8);
    params_close(model->params);
    g_strfreev(model->frozen);
    model_config_clear(&model->config);
    token_roles_clear(&model->roles);
    g_free(model);
}

void model_close_dry(Model *dry, const Model *model)
{
    Device *null = dry->dev;
    if (model)
        model->dev->gpu.scratch = MAX(model->dev->gpu.scratch, null->gpu.scratch);
    model_close(dry);
    device_close(null);
}

const ModelConfig *model_config(const Model *model)
{
    return &model->config;
}

void model_set_architecture(Model *model, Architecture architecture)
{
    model->config.architecture = (int)architecture;
}

bool model_name_classes(Model *model, const char *labels, GError **error)
{
    ModelConfig *config = &model->config;
    if (!labels_have_names((LabelKind)config->classifier))
        return fail_user(error, "model.labels: \"%s\": the model has no classes to name", labels);
    if (labels_count(labels) != labels_count(config->labels))
        return fail_user(error,
                         "model.labels: \"%s\" are %" PRId64 " names, and the model has %" PRId64 " classes (%s)",
                         labels, labels_count(labels), labels_count(config->labels), config->labels);
    if (!labels_check(labels, "model.labels", error) || !labels_check_renamed(config->labels, labels, error))
        return false;
    labels_tell_renamed(config->labels, labels);
    char *own = g_strdup(labels);
    g_free(config->labels);
    config->labels = own;
    return true;
}

ParamStore *model_params(Model *model)
{
    return model->params;
}

Stages model_stages(const Model *model)
{
    return model->ranges;
}

Fp8Scales *model_fp8(Model *model)
{
    return model->fp8;
}

TokenRoles *model_roles(Model *model)
{
    return &model->roles;
}

const Device *model_device(const Model *model)
{
    return model->dev;
}

void model_take_sums(Model *model, LossSums *sums)
{
    LossSums taken = { 0 };
    double found[HEAD_COUNT][XENT_STATS] = { 0 };

    tensor_download(model->dev, found, model->sums);
    op_fill(model->dev, model->sums, 0);
    device_synchronise(model->dev);
    for (int h = 0; h < HEAD_COUNT; h++)
        taken.head[h] = (HeadSums){ .loss = found[h][XENT_LOSS],
                                    .nll = found[h][XENT_NLL],
                                    .correct = found[h][XENT_CORRECT],
                                    .weight = found[h][XENT_WEIGHT] };
    taken.head[HEAD_CLASSES].rows = model->class_rows;
    model->class_rows = 0;
    loss_sums_add(sums, &taken);
}

void model_loss(Model *model, const Batch *batch, const ModelLoss *loss, LossSums *sums)
{
    model_pass(model, batch, loss);
    model_take_sums(model, sums);
}

void model_logits(Model *model, const Batch *batch, float *logits)
{
    Tensor x = pipeline_run(model, batch);
    heads_logits(model, &slot_last(&model->slots[0])->cx, logits, x);
}

void model_classify(Model *model, const Batch *batch, float *logits)
{
    const ModelConfig *config = &model->config;
    const bool by_token = config->classifier == LABELS_TOKENS || config->classifier == LABELS_SPAN;
    const int64_t rows = by_token ? batch->enc.n_tokens : batch->enc.n_seq;
    const int last = model->ranges.n - 1;

    Tensor x = pipeline_run(model, batch);
    if (stage_has_heads(config, model->ranges.range[last]))
        heads_classify(model, &slot_last(&model->slots[workspace_slot(&model->work, last)])->cx, logits, x, batch);
    pipeline_share(model, logits, (size_t)(rows * model_config_outputs(config)) * sizeof *logits);
}

/* Copies the rows of x (N,C) to the host, except those of memory tokens. */
static void read_hidden(const Ctx *cx, float *hidden, Tensor x)
{
    size_t mark = arena_mark(cx->scratch);

    if (tensor_present(cx->tokens->text)) {
        Tensor all = arena_tensor(cx->scratch, cx->precision.compute, x.d[0], x.d[1], "text");
        Tensor text = tensor_slice_rows(all, 0, cx->tokens->text.d[0]);
        op_gather(cx->dev, text, x, cx->tokens->text);
        x = text;
    }
    tensor_read(cx->dev, hidden, DT_F32, x);
    arena_reset(cx->scratch, mark);
}

void model_encode(Model *model, const Batch *batch, float *hidden, float *pooled)
{
    const ModelLoss forward = { 0 };
    Slot *slot = slot_open(model, 0, batch, batch->enc.max_seq, &forward);
    const Ctx *cx = &slot->encoder.cx;

    Tensor x = stack_fwd(&slot->encoder, NO_TENSOR);
    read_hidden(cx, hidden, x);
    if (pooled == NULL)
        return;
    Tensor y = arena_tensor(cx->scratch, cx->precision.compute, batch->enc.n_seq, x.d[1], "pooled");
    heads_pool(model, cx, y, x);
    tensor_read(model->dev, pooled, DT_F32, y);
}
