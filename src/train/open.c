/* open.c: opens everything that a run needs, and closes it. */
#include "base/file.h"
#include "base/lock.h"
#include "base/machine.h"
#include "base/text.h"
#include "data/data_config.h"
#include "model/hf/hf.h"
#include "plan/disk.h"
#include "plan/micro_batch.h"
#include "plan/mixture_report.h"
#include "run/compute_device.h"
#include "train/train.h"
#include "train/trainer.h"

#define PREFETCH_DEPTH 8
#define RATE_JUMP      0.02 /* share of the peak by which a changed learning rate is told */

/* Warns of held-out datasets that are trained on. */
static void advise_heldout(const char *sources, const GPtrArray *sets)
{
    Mixture *mixture = mixture_parse(sources, NULL);
    for (int k = 0; mixture && k < mixture->n; k++)
        for (guint i = 0; i < sets->len; i++) {
            const char *prefix = ((const HeldoutSet *)sets->pdata[i])->path_prefix;
            g_autofree char *trained = g_strconcat(mixture->paths[k], ".idx", NULL),
                            *held_out = g_strconcat(prefix, ".idx", NULL);
            if (!io_check_apart(held_out, &trained, 1, NULL))
                log_warning("data.valid: %s is trained on (data.train), so its loss says little of other text; "
                            "data.split, or loam prepare --valid, holds some out",
                            prefix);
        }
    g_clear_pointer(&mixture, mixture_free);
}

/* Opens the datasets. Ranks above 0 that are threads of this process share rank 0's loaders, opened before. */
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
    advise_heldout(sources, t->valid);
    if (t->shared)
        *t->shared = (SharedData){ loader_share(t->train), g_ptr_array_ref(t->valid) };
    return true;
}

static bool open_loaders(Trainer *t, GError **error)
{
    if (!open_datasets(t, error) ||
        !micro_batch_choose(&t->config, loader_enc_length(t->train), loader_dec_length(t->train), t->dev, error))
        return false;
    t->batch.samples = config_batch_samples(&t->config); /* the largest batch, for which memory is allocated */
    t->batch.micro = config_micro_samples(&t->config);
    t->loss_scale = t->config.loss_scale;
    if (!loss_scale_resolve(&t->loss_scale, (t->batch.samples + t->batch.micro - 1) / t->batch.micro, error))
        return false;
    ranks_divide(t);
    t->plan.micro_most = t->batch.micro;
    return true;
}

#define MOST_LISTED 40 /* most classes that one log line lists */

static void balance(float *weights, const int64_t *counts, int64_t n)
{
    int64_t labels = 0, present = 0;
    for (int64_t i = 0; i < n; i++) {
        labels += counts[i];
        present += counts[i] > 0;
    }
    for (int64_t i = 0; i < n; i++)
        weights[i] = counts[i] > 0 ? (float)((double)labels / ((double)present * (double)counts[i])) : 1;
}

/* Logs the weight and the number of labels of each class: "bad 0.6 (of 300), good 3 (of 60)". */
static void report_weights(const Config *config, const float *weights, const int64_t *counts, int64_t n)
{
    g_auto(GStrv) names = text_list(config->model.labels);
    g_autoptr(GString) text = g_string_new(NULL);
    for (int64_t i = 0; i < n; i++)
        g_string_append_printf(text, "%s%s %.4g (of %" PRId64 ")", i ? ", " : "", names[i], (double)weights[i],
                               counts[i]);
    log_info("weights of the classes: %s", text->str);
}

/* Warns of the classes that the model is not trained on. */
static void report_absent(const Config *config, const int64_t *counts, int64_t n)
{
    g_auto(GStrv) names = text_list(config->model.labels);
    g_autoptr(GString) text = g_string_new(NULL);
    int64_t absent = 0;
    for (int64_t i = 0; i < n; i++)
        if (counts[i] == 0 && absent++ < MOST_LISTED)
            g_string_append_printf(text, "%s%s", text->len ? ", " : "", names[i]);
    if (absent > MOST_LISTED)
        g_string_append_printf(text, ", and %" PRId64 " classes more", absent - MOST_LISTED);
    if (absent > 0)
        log_warning("no example to train on has the label %s", text->str);
}

/* Logs the number of labels of each class: "bad 300, good 60", then how many classes are not listed. */
static void report_counts(const Config *config, const int64_t *counts, int64_t n)
{
    g_auto(GStrv) names = text_list(config->model.labels);
    g_autoptr(GString) text = g_string_new(NULL);
    for (int64_t i = 0; i < MIN(n, MOST_LISTED); i++)
        g_string_append_printf(text, "%s%s %" PRId64, i ? ", " : "", names[i], counts[i]);
    if (n > MOST_LISTED)
        g_string_append_printf(text, ", and %" PRId64 " classes more", n - MOST_LISTED);
    log_info("labels to train on: %s", text->str);
}

/* *weights (classes) becomes the numbers of train.class_weights, or NULL for 1 everywhere. "balanced" gives
 * scikit-learn's weights: n / (number of classes that occur · labels of this class), with n labels in the training set;
 * a class that does not occur has 1, which is logged. g_free. */
static bool class_weights_find(const float **weights, const Config *config, const Loader *train, GError **error)
{
    const int64_t n = model_config_outputs(&config->model);
    GError *problem = NULL;
    *weights = config_class_weights(config, &problem);
    if (problem)
        return fail_with(error, problem);
    if (!labels_have_names((LabelKind)config->model.classifier))
        return true;
    g_autofree int64_t *counts = g_new0(int64_t, (gsize)n);
    if (!loader_count_labels(train, counts, error))
        return false;
    if (config_balances_classes(config)) {
        float *balanced = g_new(float, (gsize)n);
        balance(balanced, counts, n);
        report_weights(config, balanced, counts, n);
        *weights = balanced;
    } else {
        report_counts(config, counts, n);
    }
    report_absent(config, counts, n);
    return true;
}

static bool open_trained(Trainer *t, GError **error)
{
    const Config *config = &t->config;
    int32_t enc_len = loader_enc_length(t->train), dec_len = loader_dec_length(t->train);
    if ((t->model = config_open_model(config, t->dev, error)) == NULL)
        return false;
    t->loss = config_loss(config);
    if (!class_weights_find(&t->loss.class_weights, config, t->train, error) ||
        !model_reserve(t->model, (int32_t)t->batch.micro, enc_len, dec_len, &t->loss, NULL, error))
        return false;
    /* Of any rank in any step: the rank that has the most samples changes with the size of the batch. */
    t->batch.micros = g_new0(const Batch *, ranks_most_microbatches(t));
    t->optimizer = optimizer_open(model_params(t->model), &config->optim, error);
    return t->optimizer != NULL;
}

static void report_model(Trainer *t)
{
    const int64_t n_params = model_config_params(&t->config.model);
    g_autofree char *count = text_grouped(n_params), *trained = memory_describe_trained(&t->memory, n_params),
                    *memory = memory_describe(&t->memory), *precision = precision_describe(t->dev->precision),
                    *device = compute_device_describe(t->dev, precision);
    g_autofree char *ranks = ranks_describe(t);
    log_info("model: %s parameters%s; memory %s; %s%s", count, trained, memory, device, ranks);
    if (t->config.parallel.zero > 0 && comm_size(t->mesh.replicas) == 1)
        log_warning("parallel.zero: without effect, since %s", comm_size(t->mesh.world) == 1
                                                                   ? "there is one rank"
                                                                   : "no two ranks have the same part of the model");
    g_autoptr(GError) problem = NULL;
    if (!hf_can_export(&t->config.model, &problem))
        log_info("`loam export --to hf` cannot write this model: %s", problem->message);
    if (t->plan.micro_chosen)
        log_info("train.micro_batch=auto: %" PRId64 " samples at a time, %" PRId64 " microbatch%s per step",
                 t->batch.micro, t->batch.accum, t->batch.accum == 1 ? "" : "es");
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

/* Opens log.txt, or the log of a rank above 0, RUN/ranks/0003.txt. */
static bool open_log(const Trainer *t, GError **error)
{
    const char *dir = t->config.run.dir;
    const int rank = comm_rank(t->mesh.world);
    g_autofree char *name = rank > 0 ? g_strdup_printf("ranks/%04d.txt", rank) : g_strdup("log.txt");
    g_autofree char *path = g_build_filename(dir, name, NULL), *folder = g_build_filename(dir, "ranks", NULL);
    return io_make_directories(folder, error) && log_to_file(path, error);
}

/* Of killed processes of the run, wherever it writes files by io_create_beside. */
static void remove_temporaries(const char *dir)
{
    static const char *const folders[] = { "", "spikes", "task" };
    for (size_t i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_autofree char *folder = g_build_filename(dir, folders[i], NULL);
        io_remove_temporaries(folder);
    }
}

/* Locks the run directory, and starts log and heartbeats. */
static bool enter_directory(Trainer *t, GError **error)
{
    const bool first = comm_rank(t->mesh.world) == 0;
    if (first && t->hold->lock < 0 && !run_lock(t->config.run.dir, &t->hold->lock, error))
        return false;
    if (first) {
        t->hold->folder = run_folder(t->config.run.dir);
        remove_temporaries(t->config.run.dir);
    }
    if (!open_log(t, error))
        return false;
    t->pulse = pulse_open(t->config.run.dir, t->mesh.world);
    return true;
}

static bool open_directory(Trainer *t, GError **error)
{
    t->changes = g_ptr_array_new_with_free_func(g_free);
    if (t->pulse == NULL && !enter_directory(t, error))
        return false;
    if (comm_rank(t->mesh.world) == 0 && !rollback_finish(t->config.run.dir, error))
        return false;
    g_auto(RunRecord) record = config_record_of_run(t->config.run.dir);
    return config_settle_schedule(&t->config, &record, error) &&
           config_check_run(&t->config, &record, t->changes, error);
}

/* If steps are left: fails if the disk has no space for a checkpoint, warns if it has too little for those of the whole
 * run. Folders that interrupted saves left behind are removed first. */
static bool check_disk_room(const Trainer *t, GError **error)
{
    const char *dir = t->config.run.dir;
    size_t bytes = (size_t)params_elements(model_params(t->model)) * sizeof(float);
    for (int i = 0; i < optimizer_state_count(t->optimizer); i++) {
        const OptimState state = optimizer_state(t->optimizer, i);
        bytes += (size_t)(state.rows * MAX(state.cols, 1)) * sizeof(float);
    }
    if (trainer_finished(t))
        return true;
    const int64_t most =
        disk_checkpoints(&t->config, t->length.steps, loader_epoch_packed(t->train), t->valid->len > 0);
    g_autofree char *needs = disk_describe(most, bytes);
    log_file_only("disk: %s", needs);
    return run_remove_unfinished(dir, error) && disk_check(dir, most, bytes, error);
}

/* The held-out sets in the order of data.valid, with the hash of the samples that evaluations use, by which readers of
 * metrics.jsonl know a set whatever its name was. */
static json_t *list_sets(const Trainer *t)
{
    json_t *sets = json_array();
    for (guint i = 0; i < t->valid->len; i++) {
        const HeldoutSet *set = t->valid->pdata[i];
        g_autofree char *data =
            g_strdup_printf("%016" PRIx64, (uint64_t)heldout_set_hash(set, t->config.train.eval_samples));
        json_array_append_new(sets, json_pack("{s:s, s:s}", "name", heldout_set_name(set), "data", data));
    }
    return sets;
}

/* Events: what is planned and where the run is trained, for `loam report`, and which options have changed. */
static void note_start(Trainer *t)
{
    if (trainer_had_ended(t))
        return;
    const MemoryPlan *memory = &t->memory;
    const int64_t step = t->state.steps;
    g_autofree char *precision = precision_describe(t->dev->precision), *processor = machine_processor(),
                    *device = compute_device_describe(t->dev, precision),
                    *what = step == 0 ? g_strdup_printf("starts on %s", g_get_host_name())
                                      : g_strdup_printf("goes on from step %" PRId64 " on %s", step, g_get_host_name());
    json_auto_t *start = json_pack(
        "{s:s, s:s, s:s, s:s, s:i, s:I, s:I, s:f, s:f, s:f, s:o}", "version", LOAM_VERSION, "host", g_get_host_name(),
        "processor", processor, "device", device, "ranks", comm_size(t->mesh.world), "parameters",
        (json_int_t)model_config_params(&t->config.model), "steps", (json_int_t)t->length.steps, "sample_flops",
        trainer_sample_flops(t), "memory", (double)memory->device * MAX(memory->ranks, 1) + (double)memory->host,
        "machine_memory", machine_memory(), "held_out", list_sets(t));
    services_tell(t, &(LogRecord){ METRIC_EVENT, step, .event = { .what = what, .start = start } });
    for (guint i = 0; i < t->changes->len; i++)
        services_event(t, t->changes->pdata[i]);
}

/* The counters before the last update, if it had the mean size of all of them. */
static ScheduleCounts before_last_update(ScheduleCounts now)
{
    const double share = (double)(now.updates - 1) / (double)now.updates;
    return (ScheduleCounts){ now.updates - 1, llround(share * (double)now.samples), llround(share * (double)now.tokens),
                             share * now.seconds };
}

/* Says if the rate jumps where the run goes on: by another schedule, or train.length, on which its end depends. */
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
                 was, state->steps, is, share);
}

static void advise(Trainer *t)
{
    note_rate(t);
    const Config *config = &t->config;
    int64_t epoch = loader_epoch_packed(t->train), length = config_length_steps(config, epoch);
    if (config->optim.offload && *t->dev->gpu.name == '\0')
        log_info("optim.offload has no effect on the CPU: the optimizer state is in host memory anyway");
    config_advise(config, config_steps(config, config->optim.warmup, epoch),
                  t->length.steps >= 0 ? t->length.steps : length, epoch);
    trainer_note_table(t);
    mixture_advise(t->train, trainer_run_samples(t));
    g_autoptr(GPtrArray) mixture = mixture_report(t->train, trainer_run_samples(t));
    for (guint i = 0; i < mixture->len; i++)
        log_info("%s", (char *)mixture->pdata[i]);
}

/* Before the configuration of the run's last start, with train.skip_samples as it was, is written anew. */
static void advise_skips(Trainer *t)
{
    g_autofree char *path = config_of_last_start(t->config.run.dir);
    g_autoptr(GPtrArray) saved = option_settings_new();
    option_settings_read_yaml(saved, path, NULL);
    if (!trainer_had_ended(t))
        config_advise_skips(&t->config, option_settings_find(saved, "train.skip_samples"), t->state.samples);
}

static bool save_run(Trainer *t, GError **error)
{
    return comm_rank(t->mesh.world) > 0 ||
           ((trainer_had_ended(t) || config_save_run(&t->config, t->tok, error)) && check_disk_room(t, error));
}

static bool check_stop_file(Trainer *t, GError **error)
{
    const char *file = t->config.train.stop_file;
    const bool exists = *file && ranks_agree(t, g_file_test(file, G_FILE_TEST_EXISTS));
    return !exists || fail_user(error, "train.stop_file %s exists: nothing is trained; remove it to go on", file);
}

/* Enters the directory of a run that exists, so that its log and loam status tell why the start fails, if it does, as
 * without its data. Rank 0 holds the lock before others write there. */
static bool enter_run(Trainer *t, GError **error)
{
    const char *dir = t->config.run.dir;
    const bool first = comm_rank(t->mesh.world) == 0, begun = ranks_agree(t, run_has_config(dir));
    if (!ranks_end_together(t, !first || (run_check_folder(dir, error) && (!begun || enter_directory(t, error))),
                            error))
        return false;
    return ranks_end_together(t, first || !begun || enter_directory(t, error), error);
}

/* What each rank can check by itself. */
static bool check_inputs(Trainer *t, GError **error)
{
    return config_check_inputs(&t->config, error);
}

static bool open_inputs(Trainer *t, GError **error)
{
    return config_resolve(&t->config, &t->tok, error);
}

static bool open_device(Trainer *t, GError **error)
{
    const Config *config = &t->config;
    t->dev = compute_device_open_rank(config->train.device, (int)config->train.threads, config_precision(config),
                                      t->mesh.world, error);
    return t->dev && (*t->dev->gpu.name == '\0' || mesh_use_gpu(&t->mesh, t->dev, error));
}

static bool open_run_files(Trainer *t, GError **error)
{
    return trainer_prepare_task(t, error) && open_loaders(t, error) &&
           memory_take(&t->memory, &t->config, loader_enc_length(t->train), loader_dec_length(t->train), t->dev,
                       error) &&
           open_directory(t, error);
}

/* Rank 0 makes the run directory and a task's datasets, and chooses an auto microbatch. Then other ranks open them. */
static bool open_in_turn(Trainer *t, GError **error)
{
    const bool first = comm_rank(t->mesh.world) == 0;
    t->plan.micro_chosen = config_micro_is_auto(&t->config);
    if (!ranks_end_together(t, !first || open_run_files(t, error), error))
        return false;
    const int64_t micro = t->plan.micro_chosen ? ranks_agree(t, first ? config_micro_samples(&t->config) : 0) : 0;
    if (t->plan.micro_chosen && !first)
        t->config.train.micro_batch = (Amount){ .value = (double)micro, .unit = UNIT_SAMPLES };
    return ranks_end_together(t, first || open_run_files(t, error), error);
}

static bool open_refusing_services(Trainer *t, GError **error)
{
    return services_open(t, true, error);
}

static bool open_other_services(Trainer *t, GError **error)
{
    return services_open(t, false, error);
}

static bool split_savers(Trainer *t, GError **error)
{
    return !t->config.train.save_async || (t->save_ranks = comm_split(t->mesh.world, 0)) ||
           comm_check(t->mesh.world, error);
}

static void open_prefetch(Trainer *t)
{
    t->prefetch = prefetch_open(t->train, t->plan.micro_most, PREFETCH_DEPTH,
                                (PrefetchShare){ t->batch.own_samples, t->batch.samples });
}

/* How a stage of the opening meets the other ranks. */
typedef enum Meeting {
    TOGETHER,  /* at its end: each rank does it alone, then all wait for the last one and fail if one has failed */
    EXCHANGES, /* in it: its function makes collective calls, and fails on all ranks or on none */
} Meeting;

/* The stages, in the order in which every rank takes them. */
/* clang-format off */
static const struct {
    bool (*open)(Trainer *t, GError **error);
    Meeting meeting;
    void (*alone)(Trainer *t); /* instead of `open`: it cannot fail, and does not meet the other ranks */
} stages[] = {
    { check_stop_file, EXCHANGES, NULL },
    { check_inputs, TOGETHER, NULL },
    { enter_run, EXCHANGES, NULL },
    { open_inputs, TOGETHER, NULL },
    { open_device, EXCHANGES, NULL },
    { open_in_turn, EXCHANGES, NULL },
    { ranks_alike, EXCHANGES, NULL },
    { open_trained, TOGETHER, NULL },
    { .alone = report_model },
    { trainer_resume, TOGETHER, NULL }, /* rank 0 tells the others which checkpoint it loads */
    { .alone = start_decoders },
    { trainer_plan_steps, TOGETHER, NULL },
    { .alone = advise_skips },
    { open_refusing_services, EXCHANGES, NULL },
    { save_run, TOGETHER, NULL },
    { split_savers, EXCHANGES, NULL },
    { .alone = advise },
    { .alone = open_prefetch },
    { open_other_services, EXCHANGES, NULL },
    { .alone = note_start },
};
/* clang-format on */

bool trainer_open(Trainer *t, GError **error)
{
    for (size_t i = 0; i < G_N_ELEMENTS(stages); i++) {
        if (stages[i].alone) {
            stages[i].alone(t);
            continue;
        }
        const bool done = stages[i].open(t, error);
        if (stages[i].meeting == TOGETHER ? !ranks_end_together(t, done, error) : !done)
            return false;
    }
    return true;
}

void trainer_close(Trainer *t, const GError *problem)
{
    services_close(t, problem);
    trainer_drop_unchecked(t);
    comm_close(t->save_ranks);
    g_clear_pointer(&t->prefetch, prefetch_close);
    g_free(t->batch.micros);
    mesh_leave_gpu(&t->mesh);
    g_clear_pointer(&t->optimizer, optimizer_close);
    g_clear_pointer(&t->model, model_close);
    g_clear_pointer(&t->valid, g_ptr_array_unref);
    g_clear_pointer(&t->train, loader_close);
    g_clear_pointer(&t->dev, device_close);
    g_clear_pointer(&t->tok, tokenizer_close);
    g_clear_pointer(&t->changes, g_ptr_array_unref);
    g_free((float *)t->loss.class_weights);
    g_free(t->task.train);
    g_free(t->task.valid);
    log_to_file(NULL, NULL);
    lock_release(t->hold->lock);
}
