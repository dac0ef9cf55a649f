/* opening.c: opens everything that a run needs, and closes it. */
#include "base/clock.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/text.h"
#include "data/sources.h"
#include "train/class_weights.h"
#include "train/compute_device.h"
#include "train/config/config.h"
#include "train/disk.h"
#include "train/heartbeat.h"
#include "train/micro_batch.h"
#include "train/mixture_report.h"
#include "train/model_path.h"
#include "train/trainer/rollback.h"
#include "train/trainer/state.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define PREFETCH_DEPTH 8
#define RATE_JUMP      0.02 /* share of the peak by which a changed learning rate is told */

/* Opens the datasets. Ranks above 0 that are threads of this process share the loaders that rank 0 has opened before.
 */
static bool open_datasets(Trainer *t, GError **error)
{
    const DataConfig *data = &t->config.data;
    uint64_t seed = (uint64_t)t->config.run.seed;
    if (t->shared && t->shared->train) {
        t->train = loader_share(t->shared->train);
        t->valid = g_ptr_array_ref(t->shared->valid);
        return true;
    }
    g_autofree char *sources = sources_train(data, error);
    if (sources == NULL || !(t->train = loader_open(data, sources, t->tok, seed, false, error)) ||
        !(t->valid = heldout_sets_open(data, t->tok, seed, error)))
        return false;
    if (t->shared)
        *t->shared = (SharedData){ loader_share(t->train), g_ptr_array_ref(t->valid) };
    return true;
}

static bool open_loaders(Trainer *t, GError **error)
{
    if (!open_datasets(t, error) ||
        !micro_batch_choose(&t->config, loader_enc_length(t->train), loader_dec_length(t->train), t->dev, error))
        return false;
    t->samples = config_batch_samples(&t->config); /* the largest batch, for which memory is allocated */
    t->micro = config_micro_samples(&t->config);
    t->loss_scale = t->config.loss_scale;
    if (!loss_scale_resolve(&t->loss_scale, (t->samples + t->micro - 1) / t->micro, error))
        return false;
    ranks_divide(t);
    t->micro_most = t->micro;
    return true;
}

/* Sets the end of the run in steps, samples or tokens. A length in samples counts all samples since the run's first
 * step, whatever the batch size was. A length in tokens counts the tokens read, except in runs of earlier versions,
 * which counted every sample as data.input_length tokens (tokens_by_capacity). */
static void plan_length(Trainer *t, bool count_tokens)
{
    const Config *config = &t->config;
    const Amount length = config->train.length;
    const int64_t epoch = loader_epoch_samples(t->train), samples = config_samples(config, length, epoch);
    t->total = config_length_steps(config, epoch);
    if (count_tokens && config_tokens(config, length) > 0) {
        t->total = -1;
        t->total_tokens = length.value;
    } else if (samples >= 0 && (t->batches.in_tokens || *config->train.skip_samples)) {
        t->total = -1;
        t->total_samples = samples;
    } else if (samples >= 0) {
        t->total = t->state.attempts + batch_steps(&t->batches, t->state.samples, samples, config_drops_rest(config));
    }
}

/* Sets the learning-rate schedule. Percentages of the length, such as optim.warmup=6%, refer to the number of steps
 * from the run's first step to its end. */
static void plan_schedule(Trainer *t, bool count_tokens)
{
    const OptimConfig *optim = &t->config.optim;
    Schedule *schedule = &t->schedule;
    const struct {
        RunSpan *span;
        Amount amount;
    } shares[] = { { &schedule->warmup, optim->warmup },
                   { &schedule->total, optim->decay_until },
                   { &schedule->decay, optim->decay_length },
                   { &schedule->cycle, optim->cycle } };
    *schedule = config_schedule(&t->config, loader_epoch_samples(t->train), count_tokens);
    for (size_t i = 0; i < G_N_ELEMENTS(shares); i++)
        if (t->total >= 0 && shares[i].amount.unit == UNIT_PERCENT && shares[i].span->unit == UNIT_STEPS)
            shares[i].span->value = (double)config_share(shares[i].amount, t->total);
    if (t->total >= 0 && optim->decay_until.value == 0 && schedule->total.unit == UNIT_STEPS)
        schedule->total.value = (double)t->total;
    if (t->total >= 0 && schedule->ramp_end.unit == UNIT_STEPS)
        schedule->ramp_end.value = (double)t->total;
    /* A length in time counts from the start of the command. */
    schedule->total.value +=
        schedule->total.unit == UNIT_SECONDS && optim->decay_until.value == 0 ? t->first_trained_s : 0;
    schedule->ramp_end.value += schedule->ramp_end.unit == UNIT_SECONDS ? t->first_trained_s : 0;
    trainer_scale_rate(t);
}

static bool plan_steps(Trainer *t, GError **error)
{
    const TrainConfig *train = &t->config.train;
    const bool count_tokens = !t->state.tokens_by_capacity;
    const int64_t epoch = loader_epoch_samples(t->train);
    if (!trainer_plan_batch(t, error))
        return false;
    t->first_trained_s = t->state.trained_s;
    plan_length(t, count_tokens);
    plan_schedule(t, count_tokens);
    t->log_every = every_of(&t->config, train->log_every, epoch, count_tokens);
    t->eval_every = every_of(&t->config, train->eval_every, epoch, count_tokens);
    config_skip_ranges(&t->config, t->skips, &t->n_skips, NULL);
    t->samples_before = t->state.samples;
    t->spike_saved = -1;
    t->save_every = phases_of(&t->config, epoch, count_tokens);
    t->stop_at = config_span(&t->config, train->stop_at, epoch, count_tokens);
    t->stops = stop_rules_of(&t->config, epoch, count_tokens, t->command_started);
    if (train->save_every.unit != UNIT_SECONDS)
        t->save_within = every_of(&t->config, train->save_within, epoch, count_tokens);
    t->started = clock_seconds();
    t->first_step = t->window_step = t->state.attempts;
    t->first_samples = t->state.samples;
    t->first_tokens = t->state.tokens;
    return true;
}

static void report_mixture(const Trainer *t)
{
    g_autoptr(GPtrArray) lines = mixture_report(t->train, trainer_run_samples(t));
    for (guint i = 0; i < lines->len; i++)
        log_info("%s", (char *)lines->pdata[i]);
}

static bool take_memory(Trainer *t, GError **error)
{
    return memory_take(&t->memory, &t->config, loader_enc_length(t->train), loader_dec_length(t->train), t->dev, error);
}

static bool open_model(Trainer *t, GError **error)
{
    const Config *config = &t->config;
    int32_t enc_len = loader_enc_length(t->train), dec_len = loader_dec_length(t->train);
    if ((t->model = config_open_model(config, t->dev, error)) == NULL)
        return false;
    t->loss = config_loss(config);
    if (!class_weights_find(&t->class_weights, config, t->train, error))
        return false;
    t->loss.class_weights = t->class_weights;
    if (!model_reserve(t->model, (int32_t)t->micro, enc_len, dec_len, &t->loss, NULL, error))
        return false;
    double share = objective_target_share(data_objective_row(&config->data), loader_objective(t->train));
    t->sample_flops = model_step_flops(&config->model, (int32_t)t->micro, enc_len, dec_len, share) / (double)t->micro;
    if ((t->optimizer = optimizer_open(model_params(t->model), &config->optim, error)) == NULL)
        return false;
    gemm_peak_open(&t->gemm_peak, t->dev); /* opened last, because its matrices are not part of the memory plan and so
                                              not of the reserved memory */
    int64_t n_params = model_config_params(&config->model);
    g_autofree char *count = text_grouped(n_params), *trained = memory_describe_trained(&t->memory, n_params),
                    *memory = memory_describe(&t->memory), *precision = precision_describe(t->dev->precision),
                    *device = compute_device_describe(t->dev, precision);
    g_autofree char *ranks = ranks_describe(t);
    log_info("model: %s parameters%s; memory %s; %s%s", count, trained, memory, device, ranks);
    if (t->config.parallel.zero > 0 && comm_size(t->mesh.replicas) == 1)
        log_warning("parallel.zero: without effect, since %s",
                    comm_size(t->ranks) == 1 ? "there is one rank" : "no two ranks have the same part of the model");
    if (t->micro_chosen)
        log_info("train.micro_batch=auto: %" PRId64 " samples at a time, %" PRId64 " microbatch%s per step", t->micro,
                 t->accum, t->accum == 1 ? "" : "es");
    return true;
}

/* Completes the model's token roles from the tokenizer. EOS, which ends training texts, also ends generated ones. */
static void start_decoders(Trainer *t)
{
    TokenRoles *roles = model_roles(t->model);
    token_roles_complete(roles, t->tok);
    token_roles_add_eos(roles, tokenizer_eos(t->tok));
    loader_start_decoder(t->train, roles->decoder_start);
    heldout_sets_start_decoder(t->valid, roles->decoder_start);
}

/* Only rank 0 checks the run's folder, because it may already have written files there when other ranks get here. */
static bool check_paths(const Trainer *t, GError **error)
{
    const Config *config = &t->config;
    return config_check_inputs(config, error) && (comm_rank(t->ranks) > 0 || run_check_folder(config->run.dir, error));
}

/* Opens log.txt, or the log of a rank above 0, RUN/ranks/0003.txt. */
static bool open_log(const Trainer *t, GError **error)
{
    const char *dir = t->config.run.dir;
    const int rank = comm_rank(t->ranks);
    g_autofree char *name = rank > 0 ? g_strdup_printf("ranks/%04d.txt", rank) : g_strdup("log.txt");
    g_autofree char *path = g_build_filename(dir, name, NULL), *folder = g_build_filename(dir, "ranks", NULL);
    return io_make_directories(folder, error) && log_to_file(path, error);
}

/* Starts the heartbeats of this rank. Rank 0 is first: if the previous process of this run was killed, it logs where
 * that process was, and it removes the old heartbeats. */
static void begin_heartbeats(Trainer *t)
{
    const char *dir = t->config.run.dir;
    if (comm_rank(t->ranks) == 0) {
        Heartbeat last;
        g_autofree char *last_words = heartbeat_last_words(dir);
        t->had_ended = heartbeat_read(dir, 0, &last) && last.ended == 0;
        if (last_words)
            log_warning("%s", last_words);
        heartbeat_clear(dir);
    }
    t->pulse = pulse_open(dir, t->ranks);
}

/* Locks the run directory, and starts log and heartbeats. */
static bool open_directory(Trainer *t, GError **error)
{
    t->changes = g_ptr_array_new_with_free_func(g_free);
    const bool first = comm_rank(t->ranks) == 0;
    if (first && t->lock < 0 && !run_lock(t->config.run.dir, &t->lock, error))
        return false;
    if (first)
        t->folder = run_folder(t->config.run.dir);
    if (first)
        io_remove_temporaries(t->config.run.dir);
    if (!open_log(t, error))
        return false;
    begin_heartbeats(t);
    if (first && !rollback_finish(t->config.run.dir, error))
        return false;
    RunRecord record = config_record_of_run(t->config.run.dir);
    const bool same =
        config_settle_schedule(&t->config, &record, error) && config_check_run(&t->config, &record, t->changes, error);
    config_record_clear(&record);
    return same;
}

/* If steps are left: fails if the disk has no space for a checkpoint, warns if it has too little for those of the whole
 * run. Folders that interrupted saves left behind are removed first. */
static bool check_room(const Trainer *t, GError **error)
{
    const char *dir = t->config.run.dir;
    size_t bytes = (size_t)params_elements(model_params(t->model)) * sizeof(float);
    for (int i = 0; i < optimizer_state_count(t->optimizer); i++) {
        const OptimState state = optimizer_state(t->optimizer, i);
        bytes += (size_t)(state.rows * MAX(state.cols, 1)) * sizeof(float);
    }
    if (trainer_finished(t))
        return true;
    const int64_t most = disk_checkpoints(&t->config, t->total, loader_epoch_samples(t->train), t->valid->len > 0);
    g_autofree char *needs = disk_describe(most, bytes);
    log_file_only("disk: %s", needs);
    return run_remove_unfinished(dir, error) && disk_check(dir, most, bytes, error);
}

/* Whether the run has a checkpoint and no step left. Its config.yaml is then not rewritten, so that it says what the
 * run was trained with. */
static bool has_ended(const Trainer *t)
{
    return t->saved.attempts >= 0 && trainer_finished(t);
}

/* An event with what is planned and where the run is trained, for `loam report`. */
static void note_start(const Trainer *t)
{
    const int64_t step = t->state.attempts;
    g_autofree char *precision = precision_describe(t->dev->precision), *processor = machine_processor(),
                    *device = compute_device_describe(t->dev, precision),
                    *what = step == 0 ? g_strdup_printf("starts on %s", g_get_host_name())
                                      : g_strdup_printf("goes on from step %" PRId64 " on %s", step, g_get_host_name());
    json_t *start = json_pack("{s:s, s:s, s:s, s:s, s:i, s:I, s:I, s:f, s:f, s:f}", "version", LOAM_VERSION, "host",
                              g_get_host_name(), "processor", processor, "device", device, "ranks", comm_size(t->ranks),
                              "parameters", (json_int_t)model_config_params(&t->config.model), "steps",
                              (json_int_t)t->total, "sample_flops", t->sample_flops, "memory",
                              (double)t->memory.device * MAX(t->memory.ranks, 1) + (double)t->memory.host,
                              "machine_memory", machine_memory());
    metrics_start(t->metrics, step, what, start);
}

static bool open_metrics(Trainer *t, GError **error)
{
    if (comm_rank(t->ranks) > 0)
        return true;
    const bool any = t->saved.attempts >= 0;
    const RunPoint saved = { t->saved.attempts, any ? t->saved.samples : -1 };
    t->hooks = hooks_open(&t->config.hooks, t->config.run.dir);
    t->metrics = metrics_open(t->config.run.dir, saved, has_ended(t) ? NULL : &t->config.log, error);
    if (t->metrics == NULL || has_ended(t))
        return t->metrics != NULL;
    metrics_add_fairseq(t->metrics, t->config.run.dir, t->state.updates, t->config.train.fairseq_log);
    t->reports = t->config.train.report;
    metrics_options(t->metrics, t->state.attempts, &t->config);
    note_start(t);
    for (guint i = 0; i < t->changes->len; i++)
        metrics_event(t->metrics, t->state.attempts, t->changes->pdata[i]);
    return true;
}

/* Fails if train.best, train.patience or the plateau schedule are set, which need evaluations, but there is no held-out
 * data. */
static bool check_evaluated(const Trainer *t, GError **error)
{
    const char *needs = t->config.train.patience > 0                ? "train.patience"
                        : t->schedule.kind == SCHEDULE_PLATEAU      ? "optim.schedule=plateau"
                        : strcmp(t->config.train.best, "loss") != 0 ? "train.best"
                                                                    : NULL;
    return t->valid->len > 0 || !needs ||
           fail_user(error, "%s needs held-out data: set data.valid, or task.valid", needs);
}

/* The counters before the last update, if it had the mean size of all of them. */
static ScheduleCounts before_last_update(ScheduleCounts now)
{
    const double share = (double)(now.updates - 1) / (double)now.updates;
    return (ScheduleCounts){ now.updates - 1, llround(share * (double)now.samples), llround(share * (double)now.tokens),
                             share * now.seconds };
}

/* Says if the rate jumps where the run goes on: by another schedule, or by another train.length, which its end depends
 * on. */
static void note_rate(const Trainer *t)
{
    const TrainState *state = &t->state;
    const double was = state->lr, peak = t->schedule.lr;
    if (state->updates < 1 || was < 0 || trainer_finished(t))
        return;
    const ScheduleCounts now = trainer_counts(state);
    const double is = schedule_lr(&t->schedule, before_last_update(now), now);
    g_autofree char *share =
        peak > 0 ? g_strdup_printf(", %.0f %% of optim.lr", 100 * is / peak) : g_strdup(""); /* optim.lr may be 0 */
    if (fabs(is - was) > RATE_JUMP * fmax(peak, was))
        log_info("the learning rate was %.3g at the last update (step %" PRId64
                 "); by the schedule of this command it is %.3g there%s, and goes on from that",
                 was, state->attempts, is, share);
}

static void advise(const Trainer *t)
{
    note_rate(t);
    const Config *config = &t->config;
    int64_t epoch = loader_epoch_samples(t->train), length = config_length_steps(config, epoch);
    if (config->optim.offload && *t->dev->gpu.name == '\0')
        log_info("optim.offload has no effect on the CPU: the optimizer state is in host memory anyway");
    config_advise(config, config_steps(config, config->optim.warmup, epoch), t->total >= 0 ? t->total : length, epoch);
    trainer_note_table(t);
    if (t->total > 0)
        mixture_advise(t->train, trainer_run_samples(t));
}

static bool save_run(const Trainer *t, GError **error)
{
    return (has_ended(t) || config_save_run(&t->config, t->tok, error)) && check_room(t, error);
}

/* Fails while train.stop_file exists. */
static bool check_stop_file(Trainer *t, GError **error)
{
    const char *file = t->config.train.stop_file;
    const bool exists = *file && ranks_agree(t, g_file_test(file, G_FILE_TEST_EXISTS));
    return !exists || fail_user(error, "train.stop_file %s exists: nothing is trained; remove it to go on", file);
}

/* What each rank can check by itself. */
static bool open_inputs(Trainer *t, GError **error)
{
    const Config *config = &t->config;
    return check_paths(t, error) && config_check_objective(&config->data, &config->model, error) &&
           (t->tok = config_open_tokenizer(config, error)) && config_resolve_vocab(&t->config, t->tok, error) &&
           config_fit_lengths(&t->config, t->tok, error) && config_check_tokens(config, t->tok, error) &&
           config_resolve_precision(&t->config, error);
}

static bool open_device(Trainer *t, GError **error)
{
    const Config *config = &t->config;
    t->dev = compute_device_open_rank(config->train.device, (int)config->train.threads, config_precision(config),
                                      t->ranks, error);
    return t->dev && (*t->dev->gpu.name == '\0' || mesh_use_gpu(&t->mesh, t->dev, error));
}

static bool open_files(Trainer *t, GError **error)
{
    return trainer_prepare_task(t, error) && open_loaders(t, error) && take_memory(t, error) &&
           open_directory(t, error);
}

/* Rank 0 makes the run directory and the datasets of a task, and chooses the microbatch if that is auto. Then the other
 * ranks open them. */
static bool open_in_turn(Trainer *t, GError **error)
{
    const bool first = comm_rank(t->ranks) == 0;
    t->micro_chosen = config_micro_is_auto(&t->config);
    if (!ranks_end_together(t, !first || open_files(t, error), error))
        return false;
    const int64_t micro = t->micro_chosen ? ranks_agree(t, first ? config_micro_samples(&t->config) : 0) : 0;
    if (t->micro_chosen && !first)
        t->config.train.micro_batch = (Amount){ .value = (double)micro, .unit = UNIT_SAMPLES };
    return ranks_end_together(t, first || open_files(t, error), error);
}

static bool open_plan(Trainer *t, GError **error)
{
    if (!plan_steps(t, error) || !trainer_open_scores(t, error) || !check_evaluated(t, error))
        return false;
    trainer_plan_best(t);
    return true;
}

bool trainer_open(Trainer *t, GError **error)
{
    const Config *config = &t->config;
    const bool first = comm_rank(t->ranks) == 0;
    if (!check_stop_file(t, error) || !ranks_end_together(t, open_inputs(t, error), error) || !open_device(t, error) ||
        !open_in_turn(t, error) || !ranks_alike(t, error) || !ranks_end_together(t, open_model(t, error), error) ||
        !ranks_end_together(t, trainer_resume(t, error), error))
        return false;
    start_decoders(t);
    /* Of any rank in any step: the rank that has the most samples changes with the size of the batch. */
    const int64_t most = ranks_most_microbatches(t);
    if (!ranks_end_together(t, open_plan(t, error), error) ||
        !ranks_end_together(t, !first || save_run(t, error), error))
        return false;
    if (config->train.save_async && !(t->save_ranks = comm_split(t->ranks, 0)))
        return comm_check(t->ranks, error);
    advise(t);
    report_mixture(t);
    t->prefetch = prefetch_open(t->train, t->micro_most, PREFETCH_DEPTH, (PrefetchShare){ t->own_samples, t->samples });
    t->batch = g_new0(const Batch *, most);
    trainer_look(t);
    if (!ranks_end_together(t, open_metrics(t, error), error))
        return false;
    t->opened = true;
    t->energy = has_ended(t) ? NULL : energy_log_open(config, t->dev, t->ranks);
    return true;
}

void trainer_close(Trainer *t, const GError *problem)
{
    trainer_end_save(t);
    pulse_at(t->pulse, t->state.attempts, 0, "end");
    /* A command that is refused before it trains leaves a run that has ended as it was. */
    const bool refused = t->had_ended && !t->opened && error_status(problem) == LOAM_ERROR_USER;
    pulse_close(t->pulse, refused ? 0 : error_status(problem));
    comm_close(t->save_ranks);
    metrics_end(t->metrics, problem);
    metrics_close(t->metrics);
    trainer_write_report(t, true); /* which says how the run ended */
    energy_log_close(t->energy);
    g_clear_pointer(&t->prefetch, prefetch_close);
    g_free(t->batch);
    if (t->gemm_peak.dev)
        gemm_peak_clear(&t->gemm_peak);
    mesh_leave_gpu(&t->mesh);
    g_clear_pointer(&t->optimizer, optimizer_close);
    g_clear_pointer(&t->scored, g_ptr_array_unref);
    g_clear_pointer(&t->model, model_close);
    g_clear_pointer(&t->valid, g_ptr_array_unref);
    g_clear_pointer(&t->train, loader_close);
    g_clear_pointer(&t->dev, device_close);
    g_clear_pointer(&t->tok, tokenizer_close);
    g_clear_pointer(&t->changes, g_ptr_array_unref);
    g_free(t->class_weights);
    g_free(t->best);
    g_free(t->task_train);
    g_free(t->task_valid);
    log_to_file(NULL, NULL);
    lock_release(t->lock);
}
