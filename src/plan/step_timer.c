#include "plan/step_timer.h"

#include "base/clock.h"
#include "base/order.h"
#include "plan/memory.h"
#include "plan/micro_batch.h"
#include "run/compute_device.h"

/* Fills the batch with random ids. An encoder-only or decoder-only model gets about as many targets as the objective
 * would give it: at random positions in an encoder, after a prefix without targets in a decoder. */
static void fill_batch(StepTimer *timer)
{
    Philox rng = philox_open(philox_key(1, PHILOX_SAMPLING, 0), 0);
    int32_t n = timer->enc + timer->dec;
    double share = objective_target_share(timer->objective, &timer->planned);
    const ModelConfig *model = &timer->config->model;
    int64_t outputs = model->classifier == LABELS_TOKENS ? model_config_outputs(model) : model->vocab;
    int32_t prefix = timer->enc > 0 ? 0 : (int32_t)((1 - share) * n);
    g_autofree int32_t *ids = g_new(int32_t, n), *targets = g_new(int32_t, n);
    g_autofree float *weights = g_new(float, n);
    for (int64_t sample = 0; sample < timer->micro; sample++) {
        const BatchSequence sequence = {
            .sample = sample, .n = n, .ids = ids, .targets = targets, .weights = weights, .prefix_length = prefix
        };
        for (int32_t i = 0; i < n; i++) {
            ids[i] = (int32_t)philox_below(&rng, (uint64_t)model->vocab);
            targets[i] = (int32_t)(ids[i] % outputs);
            weights[i] = prefix > 0 ? i >= prefix : philox_uniform(&rng) < share;
        }
        if (timer->enc > 0 && timer->dec > 0)
            batch_add(timer->batch, sample, ids, timer->enc, ids + timer->enc, timer->dec, 0);
        else
            batch_add_sequence(timer->batch, &sequence);
    }
}

/* Resolves model.vocab; opens the tokenizer only if model.vocab is auto. */
static bool resolve_vocab(Config *config, GError **error)
{
    g_autoptr(Tokenizer) tok = NULL;
    g_autoptr(GError) unread = NULL;
    return config->model.vocab > 0 || config_plan_vocab(config, &tok, &unread, error);
}

bool step_timer_plan(StepTimer *timer, Config *config, GError **error)
{
    *timer = (StepTimer){ .config = config };
    mesh_open(&timer->mesh, comm_self(), &(MeshShape){ .tensor = 1, .context = 1, .pipeline = 1, .copies = 1 }, NULL);
    if (!config_check_layout(config, config_ranks(config), error) || !resolve_vocab(config, error))
        return false;
    timer->objective = data_objective_row(&config->data);
    timer->planned = data_objective(&config->data);
    timer->planned.n_sentinels = (int32_t)config->tokenizer.sentinels;
    if (!config_check_objective(&config->data, &config->model, error) ||
        !timer->objective->plan(&timer->planned, error) || !config_resolve_precision(config, error))
        return false;
    timer->micro = config_micro_samples(config);
    timer->accum = (config_batch_samples(config) + timer->micro - 1) / timer->micro;
    timer->enc = objective_enc_length(timer->objective, &timer->planned);
    timer->dec = objective_dec_length(timer->objective, &timer->planned);
    return true;
}

/* Chooses train.micro_batch=auto, which becomes the smallest of the microbatches that the ranks have chosen. */
static bool choose_micro_batch(StepTimer *timer, Config *config, GError **error)
{
    if (!config_micro_is_auto(config))
        return true;
    if (!micro_batch_choose(config, timer->enc, timer->dec, timer->dev, error))
        return false;
    timer->micro = -comm_max(timer->mesh.world, -config_micro_samples(config));
    config->train.micro_batch = (Amount){ .value = (double)timer->micro, .unit = UNIT_SAMPLES };
    return true;
}

/* Sets micro and accum for the largest number of samples that any rank has in a step. */
static void divide(StepTimer *timer)
{
    const int64_t ranks = comm_size(timer->mesh.data), own = (config_batch_samples(timer->config) + ranks - 1) / ranks;
    timer->micro = MIN(timer->micro, own);
    timer->accum = (own + timer->micro - 1) / timer->micro;
}

bool step_timer_open(StepTimer *timer, Config *config, GError **error)
{
    if (!step_timer_plan(timer, config, error))
        return false;
    if (config->parallel.mesh)
        timer->mesh = *config->parallel.mesh;
    timer->dev = compute_device_open_rank(config->train.device, (int)config->train.threads, config_precision(config),
                                          timer->mesh.world, error);
    if (timer->dev == NULL || (*timer->dev->gpu.name && !mesh_use_gpu(&timer->mesh, timer->dev, error)) ||
        !choose_micro_batch(timer, config, error))
        return false;
    divide(timer);
    timer->room = device_memory_available(timer->dev);
    timer->batch = batch_new((int32_t)timer->micro, timer->enc, timer->dec);
    fill_batch(timer);
    MemoryPlan memory = { 0 };
    Config own = *config; /* shallow copy; without a mesh this process is the only rank, whatever parallel.* says */
    if (config->parallel.mesh == NULL) {
        own.parallel.ranks = 0;
        own.parallel.tensor = own.parallel.context = own.parallel.pipeline = 1;
    }
    if (config_ranks(config) > 1 && !memory_plan(config, timer->enc, timer->dec, &memory, error))
        return false;
    timer->sent = memory.sent;
    const ModelLoss loss = config_loss(config);
    if (!memory_take(&memory, &own, timer->enc, timer->dec, timer->dev, error) ||
        !(timer->model = config_open_model(config, timer->dev, error)) ||
        !model_reserve(timer->model, (int32_t)timer->micro, timer->enc, timer->dec, &loss, NULL, error))
        return false;
    timer->plan = memory.device;
    params_init(model_params(timer->model), 1);
    if (!(timer->optimizer = optimizer_open(model_params(timer->model), &config->optim, error)))
        return false;
    /* Opened last, because its matrices are not part of the memory plan. */
    gemm_peak_open(&timer->gemm_peak, timer->dev);
    return true;
}

void step_timer_clear(StepTimer *timer)
{
    if (timer->model) /* the last update's weights are still collected, by way of the GPUs */
        params_settle(model_params(timer->model));
    mesh_leave_gpu(&timer->mesh);
    g_clear_pointer(&timer->optimizer, optimizer_close);
    g_clear_pointer(&timer->model, model_close);
    g_clear_pointer(&timer->batch, batch_free);
    if (timer->gemm_peak.dev)
        gemm_peak_clear(&timer->gemm_peak);
    g_clear_pointer(&timer->dev, device_close);
}

static ModelLoss step_loss(const StepTimer *timer)
{
    ModelLoss loss = config_loss(timer->config);
    loss_count(&loss, model_config(timer->model), timer->batch);
    return loss;
}

static double since(double start)
{
    return clock_seconds() - start;
}

/* Runs one microbatch, forward and backward, and returns its seconds. *queued becomes the seconds until the host had
 * queued all its operations. */
static double time_micro(StepTimer *timer, const ModelLoss *loss, double *queued)
{
    double start = clock_seconds();
    model_pass(timer->model, timer->batch, loss);
    *queued = since(start);
    device_synchronise(timer->dev);
    return since(start);
}

int step_timer_stages(const StepTimer *timer)
{
    return comm_size(timer->mesh.pipeline);
}

/* Runs all microbatches of a step through the pipeline. Returns the seconds of one of them, and *queued likewise. */
static double time_pipeline(StepTimer *timer, const ModelLoss *loss, double *queued)
{
    const int n = (int)timer->accum;
    g_autofree const Batch **batches = g_new(const Batch *, n);
    for (int i = 0; i < n; i++)
        batches[i] = timer->batch;
    double start = clock_seconds();
    model_passes(timer->model, batches, n, 0, loss);
    pipeline_sum_tied(timer->model);
    *queued = since(start) / n;
    device_synchronise(timer->dev);
    return since(start) / n;
}

/* Runs n microbatches, in a pipeline all of a step. Returns the mean seconds of one, and *queued likewise. */
static double time_passes(StepTimer *timer, const ModelLoss *loss, int64_t n, double *queued)
{
    double micro_s = 0, one;
    grads_begin(model_params(timer->model), n);
    if (step_timer_stages(timer) > 1)
        return time_pipeline(timer, loss, queued);
    *queued = 0;
    for (int64_t i = 0; i < n; i++) {
        profile_begin(timer->dev, "microbatch", (int)i);
        micro_s += time_micro(timer, loss, &one) / (double)n;
        profile_end(timer->dev);
        *queued += one / (double)n;
    }
    return micro_s;
}

static double time_update(StepTimer *timer)
{
    double start = clock_seconds();
    double norm = grads_norm(model_params(timer->model));
    optimizer_step(timer->optimizer, ++timer->updates, 1e-6, norm, 1);
    device_synchronise(timer->dev);
    return since(start);
}

static double median(GArray *times)
{
    g_array_sort(times, order_f64);
    return g_array_index(times, double, times->len / 2);
}

int32_t step_timer_inputs(const StepTimer *timer)
{
    return timer->enc > 0 ? timer->enc : timer->dec;
}

static void set_rates(const StepTimer *timer, StepTimes *times)
{
    double share =
        (double)timer->batch->n_targets / (double)(timer->micro * (timer->dec > 0 ? timer->dec : timer->enc));
    double ranks = comm_size(timer->mesh.data);
    double flops = model_step_flops(&timer->config->model, (int32_t)timer->micro, timer->enc, timer->dec, share) *
                   (double)timer->accum * ranks;
    times->step_s = times->micro_s * (double)timer->accum + times->update_s;
    times->tokens_per_s = ranks * (double)(timer->micro * timer->accum * step_timer_inputs(timer)) / times->step_s;
    times->flops_per_s = flops / times->step_s;
}

#define PEAK_SECONDS 0.1 /* shortest time of one measurement of the GEMM peak, in seconds */
#define PEAK_SHARE   0.3 /* time of one measurement of the GEMM peak / time of a step */

/* Times of this rank's sums over ranks in all steps so far. */
static CommCounts comm_so_far(const StepTimer *timer)
{
    const Mesh *mesh = &timer->mesh;
    CommCounts replicas = comm_counts(mesh->replicas), tensor = comm_counts(mesh->tensor),
               context = comm_counts(mesh->context);
    return (CommCounts){ .busy_s = replicas.busy_s + tensor.busy_s + context.busy_s,
                         .waited_s = replicas.waited_s + tensor.waited_s + context.waited_s };
}

/* Times (arrays of double) of the microbatches and updates of the steps so far, and sums of the times of this rank's
 * collectives, of its waiting for other stages, and of the steps; computed_s: of its passes without any waiting. */
typedef struct StepSeries {
    GArray *micros, *queued, *updates;
    double busy_s, waited_s, stage_s, step_s, computed_s;
} StepSeries;

/* Times one step. A single rank runs one microbatch, since all take equally long. Several ranks run all microbatches,
 * since gradients are summed over the ranks only in the last one. */
static double time_step(StepTimer *timer, const ModelLoss *loss, StepSeries *series)
{
    const int64_t passes = timer->config->parallel.mesh ? timer->accum : 1;
    const CommCounts before = comm_so_far(timer);
    const double stages = mesh_pipeline_waited_s(&timer->mesh), waited = mesh_waited_s(&timer->mesh);
    double queued_s, micro_s = time_passes(timer, loss, passes, &queued_s);
    series->computed_s += micro_s * (double)passes - (mesh_waited_s(&timer->mesh) - waited);
    double update_s = time_update(timer);
    const CommCounts after = comm_so_far(timer);
    g_array_append_val(series->micros, micro_s);
    g_array_append_val(series->queued, queued_s);
    g_array_append_val(series->updates, update_s);
    series->busy_s += after.busy_s - before.busy_s;
    series->waited_s += after.waited_s - before.waited_s;
    series->stage_s += mesh_pipeline_waited_s(&timer->mesh) - stages;
    series->step_s += micro_s * (double)passes + update_s;
    return micro_s * (double)passes + update_s;
}

/* Sets the times of the stages of a pipeline: every rank has those of its own. */
static void set_stage_times(const StepTimer *timer, StepTimes *times, const StepSeries *series)
{
    const Mesh *mesh = &timer->mesh;
    const int stages = step_timer_stages(timer);
    Comm *world = mesh->world;
    times->stage_wait = series->stage_s / series->step_s;
    comm_sum(world, &times->stage_wait, 1);
    times->stage_wait /= comm_size(world);
    times->stage_s = g_new0(double, stages);
    times->stage_s[comm_rank(mesh->pipeline)] = series->computed_s / series->micros->len * stages / comm_size(world);
    comm_sum(world, times->stage_s, stages);
}

static void set_times(const StepTimer *timer, StepTimes *times, const StepSeries *series)
{
    if (step_timer_stages(timer) > 1)
        set_stage_times(timer, times, series);
    times->comm_s = series->busy_s / series->micros->len;
    times->comm_hidden = series->busy_s > 0 ? fmax(0, 1 - series->waited_s / series->busy_s) : 1;
    times->micro_s = median(series->micros);
    times->queued_s = median(series->queued);
    times->update_s = median(series->updates);
}

void step_timer_run(StepTimer *timer, double seconds, Profile *profile, StepTimes *times)
{
    ModelLoss loss = step_loss(timer);
    *times = (StepTimes){ 0 };
    double queued_s;
    g_autoptr(GArray) micros = g_array_new(false, false, sizeof(double));
    g_autoptr(GArray) queued = g_array_new(false, false, sizeof(double));
    g_autoptr(GArray) updates = g_array_new(false, false, sizeof(double));
    StepSeries series = { .micros = micros, .queued = queued, .updates = updates };
    /* Warm-up: creates oneDNN primitives and touches memory for the first time; on a GPU the second pass times
     * algorithms of matrix products. */
    for (int pass = 0; pass < (*timer->dev->gpu.name ? 2 : 1); pass++) {
        time_passes(timer, &loss, step_timer_stages(timer) > 1 ? timer->accum : 1, &queued_s);
        time_update(timer);
    }
    double start = clock_seconds();
    do {
        timer->dev->profile = profile;
        double step_s = time_step(timer, &loss, &series);
        timer->dev->profile = NULL;
        gemm_peak_measure(&timer->gemm_peak, fmax(PEAK_SECONDS, PEAK_SHARE * step_s));
        times->profiled_s += step_s;
    } while (comm_max(timer->mesh.world, since(start) < seconds)); /* every rank gets the same answer */
    set_times(timer, times, &series);
    gemm_peak_complete(&timer->gemm_peak, PEAK_SECONDS);
    const PeakRate peak = gemm_peak_rate(&timer->gemm_peak);
    const int ranks = comm_size(timer->mesh.world);
    times->peak = (PeakRate){ peak.median * ranks, peak.low * ranks, peak.high * ranks };
    set_rates(timer, times);
    if (*timer->dev->gpu.name) {
        size_t left = device_memory_available(timer->dev) + timer->gemm_peak.bytes;
        times->taken = timer->room > left ? timer->room - left : 0; /* another process may have freed memory */
        times->planned = timer->plan;
    }
}

void step_timer_trace(StepTimer *timer, Profile *profile)
{
    ModelLoss loss = step_loss(timer);
    double queued_s;
    profile->keeps_events = true;
    timer->dev->profile = profile;
    profile_begin(timer->dev, "step", -1);
    time_passes(timer, &loss, timer->accum, &queued_s);
    profile_begin(timer->dev, "update", -1);
    time_update(timer);
    profile_end(timer->dev);
    profile_end(timer->dev);
    timer->dev->profile = NULL;
}
