#include "cli/outline.h"

#include "base/file.h"
#include "base/log.h"
#include "base/machine.h"
#include "data/data_config.h"
#include "eval/heldout.h"
#include "plan/micro_batch.h"
#include "plan/step_timer.h"
#include "run/checkpoint/checkpoint.h"
#include "run/compute_device.h"
#include "run/run_dir.h"

#define PEAK_WINDOWS 8 /* parts of a measurement, of which the fastest counts: others' load comes and goes */
#define PEAK_SECONDS 0.2
#define BUSY_SHARE                                                                                                     \
    0.15              /* share of the cores that others keep busy from which on there is a warning, if the             \
                         run's threads leave no more than this share idle beside them */
#define SUSTAINED_S 1 /* seconds of a second, longer measurement, for runs that take longer than SHORT_RUN_S */
#define SHORT_RUN_S 60

static void add_unread(GPtrArray *unread, const GError *reason)
{
    g_ptr_array_add(unread, g_strdup(reason->message));
}

/* Tries to open the held-out datasets and reports why if that fails. */
static void try_valid(const Config *config, const Tokenizer *tok, GPtrArray *unread)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GPtrArray) sets = heldout_sets_open(&config->data, tok, (uint64_t)config->run.seed, &reason);
    if (sets == NULL)
        add_unread(unread, reason);
}

/* Makes the datasets of the task at `prefix`, to be counted. */
static bool make_examples(Config *config, const Tokenizer *tok, const char *prefix, GError **error)
{
    Task task;
    if (!config_fit_lengths(config, tok, error) || !task_configure(&task, &config->task, error))
        return false;
    TaskEncoder encoder = config_task_encoder(config, &config->model, &task, tok);
    encoder.passing = true;
    return task_prepare(&encoder, prefix, error);
}

/* Opens the training examples of the task: those that the run in run.dir was begun with, or else those of its table,
 * which are made in a temporary folder. */
static Loader *open_examples(Config *config, const Tokenizer *tok, GError **error)
{
    g_autofree char *begun = g_build_filename(config->run.dir, "task", "train", NULL),
                    *about = g_strconcat(begun, ".json", NULL);
    const uint64_t seed = (uint64_t)config->run.seed;
    if (*config->run.dir && g_file_test(about, G_FILE_TEST_EXISTS))
        return loader_open(&config->data, begun, tok, seed, false, error);
    g_autofree char *folder = g_dir_make_tmp("loam-plan-XXXXXX", error),
                    *prefix = folder ? g_build_filename(folder, "train", NULL) : NULL;
    Loader *loader = folder && make_examples(config, tok, prefix, error)
                         ? loader_open(&config->data, prefix, tok, seed, false, error)
                         : NULL;
    g_autofree char *held_out = g_strconcat(prefix ? prefix : "", "-valid.json", NULL);
    if (loader)
        config_advise_data(config, g_file_test(held_out, G_FILE_TEST_EXISTS));
    if (folder)
        io_remove_tree(folder, NULL);
    return loader;
}

bool outline_resolve(Config *config, const Machine *machine, Tokenizer **tok, Loader **loader, GPtrArray *unread,
                     GError **error)
{
    g_autoptr(GError) reason = NULL;
    if (!config_plan_vocab(config, tok, &reason, error))
        return false;
    if (reason)
        add_unread(unread, reason);
    g_clear_error(&reason);
    if (!(machine ? machine_configure(machine, config, error) : config_resolve_precision(config, error)) ||
        (*tok && !config_check_tokens(config, *tok, error)))
        return false;
    g_autofree char *train = sources_train(&config->data, error);
    if (!train)
        return false;
    const bool task = task_is_set(&config->task);
    if (*tok == NULL || (*train == '\0' && !task))
        return true;
    *loader = task ? open_examples(config, *tok, &reason)
                   : loader_open(&config->data, train, *tok, (uint64_t)config->run.seed, false, &reason);
    if (*loader == NULL)
        add_unread(unread, reason);
    if (*config->data.valid && !task)
        try_valid(config, *tok, unread);
    return true;
}

static bool fits_machine(const Config *config, int32_t input_length, int32_t target_length, void *machine)
{
    StepCost cost;
    return cost_of_step(config, machine, input_length, target_length, &cost, NULL) && cost.fits;
}

static bool choose_micro_batch(Outline *o, Config *config, const Machine *machine, GError **error)
{
    o->micro_chosen = config_micro_is_auto(config);
    if (!o->micro_chosen)
        return true;
    if (machine) {
        Machine copy = *machine;
        micro_batch_choose_for(config, o->enc, o->dec, fits_machine, &copy);
        return true;
    }
    g_autoptr(Device) dev =
        compute_device_open(config->train.device, (int)config->train.threads, config_precision(config), NULL);
    return dev == NULL || micro_batch_choose(config, o->enc, o->dec, dev, error);
}

/* The counters of the run that run.dir holds; zeros if it holds none. */
static void read_trained(const Config *config, TrainState *state)
{
    g_autoptr(GArray) saved = run_checkpoints(config->run.dir);
    g_autofree char *newest =
        saved->len > 0 ? run_checkpoint_path(config->run.dir, g_array_index(saved, int64_t, 0)) : NULL;
    if (newest == NULL || !checkpoint_state(newest, state, NULL))
        *state = (TrainState){ 0 };
}

bool outline_check_layout(const Config *config, GError **error)
{
    BatchSchedule batches;
    TrainState state;
    read_trained(config, &state);
    return config_check_layout(config, config_ranks(config), error) &&
           config_batch_schedule(config, !state.tokens_by_capacity, &batches, error) &&
           batch_check_ranks(&batches, state.samples, state.tokens, config_data_ranks(config), error);
}

/* Reads from the run in run.dir how far it is. */
static void find_trained(Outline *o)
{
    TrainState state;
    read_trained(o->config, &state);
    o->trained = (OutlineTrained){ state.steps, state.samples, state.samples - state.skipped_samples,
                                   state.tokens_by_capacity ? 0 : state.tokens };
}

Amount outline_capacity(const Outline *o, Amount amount)
{
    if (amount.unit == UNIT_TOKENS)
        amount.value /= o->input_fill;
    return amount;
}

/* The samples from `first` to `end` that train.skip_samples leaves out. */
static int64_t left_out(const Config *config, int64_t first, int64_t end)
{
    SkipRange ranges[SKIP_RANGES];
    int n;
    int64_t samples = 0;
    config_skip_ranges(config, ranges, &n, NULL);
    for (int64_t at = first, left, next; at < end; at = left == at ? next : left) {
        left = at; /* the end of the ranges that `at` is in, which may overlap */
        next = end;
        for (int i = 0; i < n; i++)
            if (ranges[i].first > at)
                next = MIN(next, ranges[i].first);
            else
                left = MAX(left, MIN(ranges[i].end, end));
        samples += left - at;
    }
    return samples;
}

/* The steps of the run up to an amount: if it counts samples or tokens, those that the run has made, with whatever
 * batch size, and those that read what is left of it. Samples hold as many tokens as they do on average. -1 means
 * unknown. */
static int64_t steps_to(const Outline *o, Amount amount, bool whole)
{
    const OutlineTrained *trained = &o->trained;
    const bool goes_on = trained->tokens > 0 && config_tokens(o->config, amount) > 0;
    Amount left = amount;
    if (goes_on)
        left.value = fmax(amount.value - (double)trained->tokens, 0);
    int64_t end = config_samples(o->config, outline_capacity(o, left), o->epoch);
    if (end < 0)
        return config_steps(o->config, amount, o->epoch);
    end += goes_on ? trained->samples : 0;
    if (config_tokens(o->config, amount) <= 0) /* samples that are left out count as read, but their tokens do not */
        end -= left_out(o->config, trained->samples, end);
    return trained->steps + batch_steps(&o->batches, trained->samples, end, whole);
}

/* The steps that the run makes: those of train.length, or fewer with train.stop_at. */
static int64_t run_steps(const Outline *o)
{
    const Amount stop_at = o->config->train.stop_at;
    const int64_t stop = stop_at.value > 0 ? steps_to(o, stop_at, false) : 0;
    return stop > 0 && (o->length < 0 || stop < o->length) ? stop : o->length;
}

/* Samples that the run has learnt after so many steps. */
static int64_t samples_at(const Outline *o, int64_t steps)
{
    const OutlineTrained *trained = &o->trained;
    if (steps < trained->steps)
        return (int64_t)((double)trained->learnt * (double)steps / (double)trained->steps);
    return trained->learnt + batch_samples(&o->batches, trained->samples, steps - trained->steps) - trained->samples;
}

bool outline_of(Outline *o, Config *config, const Loader *loader, const Machine *machine, GError **error)
{
    *o = (Outline){ .config = config,
                    .objective = data_objective_row(&config->data),
                    .planned = data_objective(&config->data),
                    .samples = config_batch_samples(config),
                    .epoch = loader ? loader_epoch_packed(loader) : 0,
                    .fill = loader ? loader_fill(loader) : 1,
                    .input_fill = loader ? loader_input_fill(loader) : 1 };
    o->planned.n_sentinels = loader ? loader_objective(loader)->n_sentinels : (int32_t)config->tokenizer.sentinels;
    if (!config_check_objective(&config->data, &config->model, error) || !o->objective->plan(&o->planned, error))
        return false;
    o->enc = objective_enc_length(o->objective, &o->planned);
    o->dec = objective_dec_length(o->objective, &o->planned);
    if (!outline_check_layout(config, error) || !choose_micro_batch(o, config, machine, error))
        return false;
    o->micro = (int32_t)MIN(config_micro_samples(config), config_rank_samples(config));
    config_batch_schedule(config, true, &o->batches, NULL);
    find_trained(o);
    o->length = steps_to(o, config->train.length, config_drops_rest(config));
    o->steps = run_steps(o);
    o->run_samples = o->steps > 0 ? samples_at(o, o->steps) : -1;
    o->step_flops = outline_sample_flops(o, &config->model) * (double)o->samples;
    return true;
}

double outline_sample_flops(const Outline *o, const ModelConfig *model)
{
    const double share = objective_target_share(o->objective, &o->planned);
    return o->fill * model_step_flops(model, o->micro, o->enc, o->dec, share) / o->micro;
}

double outline_tokens(const Outline *o, double samples)
{
    return o->input_fill * samples * (o->enc > 0 ? o->enc : o->dec);
}

double outline_seconds(const Outline *o, int64_t steps)
{
    return o->step_s * (double)samples_at(o, steps) / (double)o->samples;
}

static void estimate_step(Outline *o, Device *dev, double seconds)
{
    GemmPeak peak;
    gemm_peak_open(&peak, dev);
    o->peak = o->peak_low = 0;
    for (int i = 0; i < PEAK_WINDOWS && peak.memory; i++) {
        gemm_peak_measure(&peak, seconds / PEAK_WINDOWS);
        o->peak = fmax(o->peak, peak.samples[i]);
        o->peak_low = i > 0 ? fmin(o->peak_low, peak.samples[i]) : peak.samples[i];
    }
    gemm_peak_clear(&peak);
    o->step_s = o->peak > 0 ? o->step_flops / (STEP_USUAL_SHARE * o->peak) : 0;
}

/* Sets the steps of a train.length that is a time. */
static void estimate_steps(Outline *o)
{
    const Amount length = o->config->train.length;
    if (length.unit != UNIT_SECONDS || o->step_s <= 0)
        return;
    const double samples = length.value / o->step_s * (double)o->samples;
    o->length = batch_steps(&o->batches, 0, (int64_t)fmin(samples, 1e17), false);
    o->steps = run_steps(o);
    o->run_samples = samples_at(o, o->steps);
}

static bool time_step(Outline *o, Config *config, double measure_s, GError **error)
{
    if (measure_s > 0) {
        StepTimer timer;
        StepTimes times = { 0 };
        bool done = step_timer_open(&timer, config, error);
        if (done)
            step_timer_run(&timer, measure_s, NULL, &times);
        step_timer_clear(&timer);
        o->step_s = o->fill * times.step_s;
        return done;
    }
    g_autoptr(Device) dev = device_open_cpu((int)config->train.threads, config_precision(config));
    estimate_step(o, dev, PEAK_SECONDS);
    if (outline_seconds(o, MAX(o->steps, 0)) > SHORT_RUN_S) /* some processors are faster at first */
        estimate_step(o, dev, SUSTAINED_S);
    return true;
}

bool outline_time(Outline *o, Config *config, double measure_s, GError **error)
{
    Config here = *config; /* shallow copy: one rank with the threads of all of them */
    const bool gpu = compute_device_is_gpu(config->train.device);
    if (measure_s <= 0 && gpu)
        return true;
    here.train.threads = compute_device_all_threads((int)config->train.threads, config_ranks(config));
    const MachineLoad before = machine_load();
    if (!time_step(o, &here, measure_s, error))
        return false;
    const MachineLoad after = machine_load();
    o->busy_cores = machine_busy_cores(before, after);
    const double own = here.train.threads > 0 ? (double)here.train.threads : after.cores,
                 share = BUSY_SHARE * after.cores;
    if (!gpu && o->busy_cores > share && o->busy_cores + own > after.cores - share)
        log_warning("other programs keep %.1f of this machine's %d cores busy: the times planned here are longer than "
                    "without them",
                    o->busy_cores, after.cores);
    estimate_steps(o);
    return true;
}
