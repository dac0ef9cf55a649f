#include "train/trainer.h"

#include "base/check.h"
#include "base/log.h"
#include "base/text.h"
#include "device/peak.h"
#include "eval/heldout.h"
#include "eval/heldout_sets.h"
#include "train/memory.h"
#include "train/metrics.h"
#include "train/open.h"
#include "train/run.h"
#include "train/stop.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define PEAK_SECONDS   0.2 /* for measuring the yardstick of mfu */
#define PREFETCH_DEPTH 8
#define MAX_SKIPPED    100 /* consecutive steps without a finite gradient before the run is given up */

typedef struct Trainer {
    Config config; /* a shallow copy: model.vocab is resolved */
    Tokenizer *tok;
    Device *dev;
    Model *model;
    Optimizer *optimizer;
    Loader *train;
    GPtrArray *valid; /* HeldoutSet *; the first one decides which checkpoint is the best */
    Prefetch *prefetch;
    Batch **batch; /* (accum) the microbatches of a step */
    int64_t accum, micro, samples;
    Schedule schedule;
    int64_t total, log_every, eval_every, save_every; /* steps; total -1: a time */
    TrainState state;
    ModelLoss loss;
    MemoryPlan memory;
    Metrics *metrics;
    double step_flops, peak_flops;
    gint64 started, window_started;     /* microseconds */
    int64_t window_tokens, window_rows; /* real tokens and rows of capacity since the last log line */
    int64_t skipped, saved_step, first_step;
} Trainer;

/* What a step found. */
typedef struct StepStats {
    LossSums sums;
    double lr, norm;
    bool updated;
} StepStats;

/* ---- one step ---- */

static bool load_batches(Trainer *t, double *n_targets, GError **error)
{
    *n_targets = 0;
    for (int64_t i = 0; i < t->accum; i++) {
        int64_t offset = i * t->micro, n = MIN(t->micro, t->samples - offset);
        const Batch *ready;
        if (!prefetch_get(t->prefetch, t->state.samples + offset, n, &ready, error))
            return false;
        batch_copy(t->batch[i], ready);
        *n_targets += (double)ready->n_targets;
    }
    return true;
}

/* The counters of data: a skipped step consumes its samples too. */
static void count_step(Trainer *t, const StepStats *stats)
{
    TrainState *state = &t->state;
    for (int64_t i = 0; i < t->accum; i++) {
        state->tokens += t->batch[i]->enc.n_used;
        t->window_tokens += t->batch[i]->enc.n_used;
        t->window_rows += t->batch[i]->enc.n_rows;
        state->target_tokens += t->batch[i]->n_targets;
    }
    state->attempts++;
    state->samples += t->samples;
    if (!stats->updated)
        return;
    state->updates++;
    state->window_steps++;
    state->window.loss += stats->sums.loss;
    state->window.nll += stats->sums.nll;
    state->window.correct += stats->sums.correct;
    state->window.weight += stats->sums.weight;
}

static bool train_step(Trainer *t, StepStats *stats, GError **error)
{
    *stats = (StepStats){ 0 };
    if (!load_batches(t, &t->loss.n_targets, error))
        return false;
    grads_begin(model_params(t->model));
    for (int64_t i = 0; i < t->accum; i++)
        model_loss(t->model, t->batch[i], &t->loss, &stats->sums);
    stats->norm = grads_norm(model_params(t->model));
    stats->updated = isfinite(stats->norm) && isfinite(stats->sums.loss);
    if (stats->updated) {
        int64_t update = t->state.updates + 1;
        stats->lr = optimizer_step(t->optimizer, update, schedule_lr(&t->schedule, update), stats->norm);
    }
    count_step(t, stats);
    return true;
}

/* ---- what follows a step ---- */

static bool due(int64_t step, int64_t every)
{
    return every > 0 && step % every == 0;
}

static double seconds_since(gint64 start)
{
    return (double)(g_get_monotonic_time() - start) / 1e6;
}

static void log_step(Trainer *t, const StepStats *stats)
{
    TrainState *state = &t->state;
    double elapsed = seconds_since(t->window_started);
    int64_t steps = MAX(state->attempts - MAX(t->first_step, state->attempts - t->log_every), 1);
    TrainRecord record = { .state = state,
                           .lr = stats->lr,
                           .grad_norm = stats->norm,
                           .tokens_per_s = (double)t->window_tokens / elapsed,
                           .step_s = elapsed / (double)steps,
                           .fill = (double)t->window_tokens / (double)t->window_rows,
                           .left_s = -1,
                           .total_steps = MAX(t->total, 0) };
    record.flops_per_s = t->step_flops / record.step_s;
    record.mfu = record.flops_per_s / t->peak_flops;
    if (t->total > 0)
        record.left_s = seconds_since(t->started) / (double)(state->attempts - t->first_step) *
                        (double)(t->total - state->attempts);
    if (state->window_steps)
        metrics_train(t->metrics, &record);
    state->window = (LossSums){ 0 };
    state->window_steps = 0;
    t->window_started = g_get_monotonic_time();
    t->window_tokens = t->window_rows = 0;
}

/* The mean loss of a held-out set in nats. */
static bool evaluate_set(Trainer *t, const HeldoutSet *set, double *nll, GError **error)
{
    LossSums sums = { 0 };
    gint64 start = g_get_monotonic_time();
    if (!heldout_loss(t->model, set->loader, t->config.train.eval_samples, t->micro, &sums, error))
        return false;
    metrics_valid(t->metrics, t->state.attempts, set->name, &sums, seconds_since(start));
    *nll = sums.nll / sums.weight;
    return true;
}

static bool evaluate(Trainer *t, bool *best, GError **error)
{
    *best = false;
    if (t->valid->len == 0)
        return true;
    gint64 start = g_get_monotonic_time();
    double nll = 0, other;
    for (guint i = 0; i < t->valid->len; i++)
        if (!evaluate_set(t, t->valid->pdata[i], i == 0 ? &nll : &other, error))
            return false;
    *best = t->state.best_step < 0 || nll < t->state.best_loss;
    if (*best) {
        t->state.best_loss = nll;
        t->state.best_step = t->state.attempts;
    }
    t->window_started += g_get_monotonic_time() - start; /* evaluation does not slow the training rate shown */
    t->started += g_get_monotonic_time() - start;
    return true;
}

static bool write_checkpoint(Trainer *t, const char *folder, GError **error)
{
    const TrainConfig *train = &t->config.train;
    const char *dir = t->config.run.dir;
    Checkpoint checkpoint = { .model = model_config(t->model),
                              .params = model_params(t->model),
                              .optimizer = t->optimizer,
                              .state = &t->state,
                              .tokenizer_hash = tokenizer_hash(t->tok) };
    if (!checkpoint_save(folder, &checkpoint, error) || !run_link(dir, "latest", t->state.attempts, error) ||
        (t->state.best_step == t->state.attempts && !run_link(dir, "best", t->state.attempts, error)))
        return false;
    t->saved_step = t->state.attempts;
    return run_retain(dir, train->keep_last, train->keep_every, t->state.best_step, error);
}

/* A save that fails leaves the one before it in place; training goes on unless this was the last chance. */
static bool save(Trainer *t, bool last, GError **error)
{
    if (t->saved_step == t->state.attempts)
        return true;
    gint64 start = g_get_monotonic_time();
    g_autofree char *folder = run_checkpoint_path(t->config.run.dir, t->state.attempts);
    g_autoptr(GError) problem = NULL;
    if (write_checkpoint(t, folder, &problem)) {
        metrics_save(t->metrics, t->state.attempts, folder, seconds_since(start));
    } else if (last) {
        g_propagate_error(error, g_steal_pointer(&problem));
        return fail_context(error, "the last save failed, the checkpoint before it stands");
    } else {
        log_warning("step %" PRId64 " was not saved, the checkpoint before it stands and training goes on: %s",
                    t->state.attempts, problem->message);
        metrics_event(t->metrics, t->state.attempts, problem->message);
    }
    return true;
}

static bool note_skipped(Trainer *t, const StepStats *stats, GError **error)
{
    t->skipped = stats->updated ? 0 : t->skipped + 1;
    if (stats->updated)
        return true;
    log_warning("step %" PRId64 " was skipped: its loss or gradient is not finite", t->state.attempts);
    metrics_event(t->metrics, t->state.attempts, "skipped: loss or gradient is not finite");
    return t->skipped < MAX_SKIPPED ||
           fail_user(error, "%d steps in a row had no finite gradient; lower optim.lr or lengthen optim.warmup",
                     MAX_SKIPPED);
}

static bool finished(const Trainer *t)
{
    if (t->total >= 0)
        return t->state.attempts >= t->total;
    return seconds_since(t->started) >= t->config.train.length.value;
}

static bool train_loop(Trainer *t, GError **error)
{
    if (finished(t))
        log_info("nothing left to do: the run has its %" PRId64 " steps; a longer train.length goes on from there",
                 t->state.attempts);
    while (!finished(t)) {
        StepStats stats;
        bool best = false;
        if (!train_step(t, &stats, error) || !note_skipped(t, &stats, error))
            return false;
        bool end = finished(t), stop = !end && stop_requested();
        if (due(t->state.attempts, t->log_every))
            log_step(t, &stats);
        if ((end || due(t->state.attempts, t->eval_every)) && !evaluate(t, &best, error))
            return false;
        if ((end || stop || best || due(t->state.attempts, t->save_every)) && !save(t, end || stop, error))
            return false;
        if (stop) {
            g_set_error(error, LOAM_ERROR, LOAM_ERROR_STOPPED,
                        "stopped on request at step %" PRId64 ", checkpoint saved; the same command goes on from there",
                        t->state.attempts);
            return false;
        }
    }
    return true;
}

/* ---- opening and closing ---- */

static bool open_data(Trainer *t, GError **error)
{
    const DataConfig *data = &t->config.data;
    uint64_t seed = (uint64_t)t->config.run.seed;
    if (*data->train == '\0')
        return fail_user(error, "data.train is not set: the PREFIX that `loam prepare --out PREFIX` made");
    t->train = loader_open(data, data->train, t->tok, seed, false, error);
    if (t->train == NULL)
        return false;
    if (!(t->valid = heldout_sets_open(data, t->tok, seed, error)))
        return false;
    t->samples = config_batch_samples(&t->config);
    t->micro = config_micro_samples(&t->config);
    t->accum = (t->samples + t->micro - 1) / t->micro;
    t->prefetch = prefetch_open(t->train, t->micro, PREFETCH_DEPTH);
    const ObjectiveConfig *objective = loader_objective(t->train);
    t->batch = g_new0(Batch *, t->accum);
    for (int64_t i = 0; i < t->accum; i++)
        t->batch[i] = batch_new((int32_t)t->micro, (int32_t)objective->input_length, (int32_t)objective->target_length);
    return true;
}

/* Every size is known now, in steps of this batch. */
static void plan_steps(Trainer *t)
{
    const TrainConfig *train = &t->config.train;
    int64_t epoch = loader_epoch_samples(t->train, 0);
    t->schedule = config_schedule(&t->config, epoch);
    t->total = config_steps(&t->config, train->length, epoch);
    t->log_every = MAX(1, config_steps(&t->config, train->log_every, epoch));
    t->eval_every = config_steps(&t->config, train->eval_every, epoch);
    t->save_every = config_steps(&t->config, train->save_every, epoch);
}

static bool plan_memory(Trainer *t, GError **error)
{
    const ObjectiveConfig *objective = loader_objective(t->train);
    return memory_plan(&t->config, (int32_t)objective->input_length, (int32_t)objective->target_length, &t->memory,
                       error) &&
           memory_check(&t->memory, error);
}

static bool open_model(Trainer *t, GError **error)
{
    const Config *config = &t->config;
    const ObjectiveConfig *objective = loader_objective(t->train);
    int32_t enc_len = (int32_t)objective->input_length, dec_len = (int32_t)objective->target_length;
    if ((t->model = model_open(t->dev, &config->model, true, error)) == NULL)
        return false;
    t->loss = (ModelLoss){ .n_targets = 1,
                           .label_smoothing = (float)config->train.label_smoothing,
                           .z_loss = (float)config->train.z_loss,
                           .seed = (uint64_t)config->run.seed,
                           .train = true,
                           .grad = true,
                           .recompute = config->train.recompute == RECOMPUTE_BLOCK };
    if (!model_reserve(t->model, (int32_t)t->micro, enc_len, dec_len, &t->loss, NULL, error))
        return false;
    t->step_flops =
        model_step_flops(&config->model, (int32_t)t->micro, enc_len, dec_len) * (double)t->samples / (double)t->micro;
    t->peak_flops = device_gemm_peak(t->dev, PEAK_SECONDS);
    t->optimizer = optimizer_open(model_params(t->model), &config->optim, error);
    g_autofree char *count = text_grouped(params_elements(model_params(t->model))),
                    *memory = memory_describe(&t->memory);
    if (t->optimizer)
        log_info("model: %s parameters; memory %s; %s on %d threads (%s)", count, memory, t->dev->name,
                 device_threads(t->dev), device_isa(t->dev));
    return t->optimizer != NULL;
}

/* Fresh weights: from the seed, or those of another model of the same shape. */
static bool init_model(Trainer *t, GError **error)
{
    const char *init = t->config.train.init;
    t->state = (TrainState){ .best_step = -1 };
    if (*init == '\0') {
        params_init(model_params(t->model), (uint64_t)t->config.run.seed);
        return true;
    }
    Model *source = model_open_path(init, t->dev, false, NULL, error);
    if (source == NULL)
        return fail_context(error, "train.init");
    bool same = model_copy_weights(t->model, source, error);
    model_close(source);
    return same || fail_context(error, "train.init %s", init);
}

static bool resume(Trainer *t, GError **error)
{
    const char *dir = t->config.run.dir;
    int64_t step = run_newest_sound(dir);
    t->saved_step = step;
    if (step < 0)
        return init_model(t, error);
    g_autofree char *folder = run_checkpoint_path(dir, step), *hash = NULL;
    ModelConfig saved = { 0 };
    bool read = checkpoint_config(folder, &saved, &hash, error);
    checkpoint_clear_config(&saved);
    if (read && g_strcmp0(hash, tokenizer_hash(t->tok)) != 0)
        return fail_user(error, "%s was trained with another tokenizer (hash %s) than %s (hash %s)", dir, hash,
                         t->config.tokenizer.path, tokenizer_hash(t->tok));
    Checkpoint checkpoint = { .params = model_params(t->model), .optimizer = t->optimizer, .state = &t->state };
    if (!read || !checkpoint_load(folder, &checkpoint, error))
        return false;
    log_info("going on from %s", folder);
    return true;
}

static bool trainer_open(Trainer *t, GError **error)
{
    const Config *config = &t->config;
    if (*config->run.dir == '\0')
        return fail_user(error, "run.dir is not set: the directory of the run, such as run.dir=runs/a");
    if (*config->tokenizer.path == '\0')
        return fail_user(error, "tokenizer.path is not set: the model that `loam tokenizer train --out` made");
    t->tok = tokenizer_open(config->tokenizer.path, error);
    if (t->tok == NULL || !config_resolve_vocab(&t->config, t->tok, error))
        return false;
    t->dev = device_open_cpu((int)config->train.threads);
    if (!open_data(t, error) || !plan_memory(t, error) || !run_lock(config->run.dir, error) ||
        !run_prepare(config, error))
        return false;
    g_autofree char *log = g_build_filename(config->run.dir, "log.txt", NULL);
    plan_steps(t);
    if (!log_to_file(log, error) || !open_model(t, error) || !resume(t, error))
        return false;
    t->first_step = t->state.attempts;
    t->metrics = metrics_open(config->run.dir, t->state.attempts, error);
    return t->metrics != NULL;
}

static void trainer_close(Trainer *t)
{
    metrics_close(t->metrics);
    g_clear_pointer(&t->prefetch, prefetch_close);
    for (int64_t i = 0; t->batch && i < t->accum; i++)
        batch_free(t->batch[i]);
    g_free(t->batch);
    g_clear_pointer(&t->optimizer, optimizer_close);
    g_clear_pointer(&t->model, model_close);
    g_clear_pointer(&t->valid, g_ptr_array_unref);
    g_clear_pointer(&t->train, loader_close);
    g_clear_pointer(&t->dev, device_close);
    g_clear_pointer(&t->tok, tokenizer_close);
    log_to_file(NULL, NULL);
}

bool train_run(const Config *config, GError **error)
{
    Trainer t = { .config = *config, .saved_step = -1 };
    bool best, done = trainer_open(&t, error);
    stop_catch_signals();
    if (done && t.state.attempts == 0) { /* where the curve starts; nothing to keep yet */
        done = evaluate(&t, &best, error);
        t.state.best_step = -1;
    }
    t.started = t.window_started = g_get_monotonic_time();
    done = done && train_loop(&t, error);
    trainer_close(&t);
    return done;
}
