#include "train/trainer/trainer.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/text.h"
#include "train/heartbeat.h"
#include "train/launch.h"
#include "train/trace.h"
#include "train/trainer/spike.h"
#include "train/trainer/state.h"
#include "train/trainer/stop.h"

#include <inttypes.h>
#include <math.h>

/* Share of a run's time that is spent on measuring the GEMM peak, the denominator of MFU. */
#define GEMM_PEAK_SHARE 0.003

/* Warns of a rank that has been slower than the others for some log lines. */
static void warn_of_straggler(const Trainer *t)
{
    const Straggler *slow = &t->straggler;
    Heartbeat beat;
    if (comm_rank(t->ranks) > 0 || !slow->new)
        return;
    const bool known = heartbeat_read(t->config.run.dir, slow->rank, &beat);
    g_autofree char *what = g_strdup_printf("rank %d%s%s computes %.1f times as long as the others, which wait for it",
                                            slow->rank, known ? " on " : "", known ? beat.host : "", slow->factor);
    log_warning("step %" PRId64 " %s", t->state.attempts, what);
    metrics_event(t->metrics, t->state.attempts, what);
}

/* Logs the means over the steps since the last log line. If none of these steps made an update, such as while the loss
 * scale of fp16 falls, the loss is that of the last step.
 * begins: the next window begins. */
static void log_window(Trainer *t, const StepStats *stats, bool begins)
{
    Norms norms = { 0 };
    TrainState shown = t->state;
    const TrainState *state = &shown;
    if (shown.window_steps == 0)
        shown.window = stats->sums;
    double elapsed = clock_seconds() - t->window_started;
    int64_t steps = MAX(state->attempts - t->window_step, 1);
    TrainRecord record = { .state = state,
                           .lr = stats->lr,
                           .grad_norm = stats->norm,
                           .loss_scale = t->config.train.precision == PRECISION_FP16 ? stats->loss_scale : 0,
                           .clips = t->config.optim.clip_norm > 0,
                           .begins = begins,
                           .elapsed_s = elapsed,
                           .waited_s = t->window_waited,
                           .epochs = (double)state->samples / (double)loader_epoch_samples(t->train),
                           .tokens_per_s = (double)t->window_tokens / elapsed,
                           .step_s = elapsed / (double)steps,
                           .samples_per_s = (double)t->window_samples / elapsed,
                           .batch = t->samples,
                           .ranks = comm_size(t->ranks),
                           .data_wait = t->window_waited / elapsed,
                           .comm_wait = t->window_comm_wait / elapsed,
                           .sent_bytes = (double)t->window_sent / (double)steps,
                           .fill = (double)t->window_tokens / (double)t->window_rows,
                           .memory = machine_resident(),
                           .left_s = trainer_seconds_left(t),
                           .total_steps = MAX(t->total, 0),
                           .about_steps = trainer_about_steps(t),
                           .peak = ranks_peak(t) };
    record.data_s = t->window_waited / (double)steps;
    record.passes_s = t->window_passes / (double)steps;
    record.update_s = t->window_update / (double)steps;
    if (comm_size(t->ranks) > 1) {
        straggler_look(&t->straggler, &t->mesh, elapsed, t->window_passes + t->window_update - t->window_comm_wait,
                       t->window_own_samples);
        record.straggler = &t->straggler;
    }
    if (t->config.log.norms != NORMS_NONE) {
        norms = norms_measure(t->model, t->ranks, stats->loss_scale);
        record.norms = &norms;
    }
    record.flops_per_s = record.fill * t->sample_flops * (double)t->window_samples / elapsed;
    metrics_train(t->metrics, &record);
    warn_of_straggler(t);
    norms_clear(&norms);
}

/* Warns once, at a log line, if a length in time will end before a warm-up in steps, samples or tokens does. */
static void warn_of_warmup(Trainer *t)
{
    const RunSpan warmup = t->schedule.warmup;
    const TrainState *state = &t->state;
    const double elapsed = clock_seconds() - t->started, length = t->config.train.length.value;
    const double done = warmup.unit == UNIT_TOKENS    ? (double)state->tokens
                        : warmup.unit == UNIT_SAMPLES ? (double)state->update_samples
                                                      : (double)state->updates;
    if (t->warned_of_warmup || t->config.train.length.unit != UNIT_SECONDS || warmup.unit == UNIT_SECONDS ||
        done >= warmup.value)
        return;
    t->warned_of_warmup = true;
    if (done / elapsed * length < warmup.value)
        log_warning("optim.warmup is longer than the run, about %.0f steps at this speed: the learning rate never "
                    "reaches its peak; write a share of the length, such as optim.warmup=6%%",
                    (double)(state->attempts - t->first_step) / elapsed * length);
}

static void begin_window(Trainer *t)
{
    t->state.window = (LossSums){ 0 };
    t->state.window_updates = (UpdateSums){ 0 };
    t->state.window_steps = t->state.window_skipped = t->state.window_nan = 0;
    t->window_started = clock_seconds();
    t->window_step = t->state.attempts;
    t->window_tokens = t->window_rows = t->window_samples = t->window_own_samples = 0;
    t->window_waited = t->window_comm_wait = t->window_passes = t->window_update = 0;
    t->window_sent = 0;
    every_done(&t->log_every);
}

/* Writes a log line if one is due, and always after the last step. After the last step the window is not reset unless
 * the line was due, so that a run that is later continued with a larger train.length logs the same means as an
 * uninterrupted one. */
static void log_step(Trainer *t, const StepStats *stats, bool end)
{
    bool due = t->seen & SEEN_LOG;
    if (stats->updated)
        metrics_update(t->metrics, stats->tokens);
    if (due || end) {
        log_window(t, stats, due);
        energy_log_write(t->energy);
        warn_of_warmup(t);
    }
    if (due)
        begin_window(t);
}

/* Ends all ranks with the same error, and writes nothing more by the name of the run directory. */
static bool fail_moved(Trainer *t, GError **error)
{
    t->reports = false;
    t->together = mesh_check(&t->mesh, NULL);
    return run_fail_moved(t->config.run.dir, error);
}

/* Logs, evaluates and saves if these are due after a step. After a request to stop, the evaluation is left to the
 * resumed run. *end: whether this is the last step; an evaluation may set it (train.patience). */
static bool after_step(Trainer *t, const StepStats *stats, bool *end, GError **error)
{
    bool best = false;
    if (t->seen & SEEN_MOVED)
        return fail_moved(t, error);
    t->window_started += gemm_peak_turn(
        &t->gemm_peak, GEMM_PEAK_SHARE); /* the time of this measurement is not counted as training time */
    log_step(t, stats, *end);
    trainer_look_at_save(t);
    if (!*end && (t->seen & SEEN_STOP))
        return fail_stopped(error);
    if (trainer_evaluation_due(t, *end) && !trainer_evaluate(t, &best, error))
        return trainer_save_after_error(t, error);
    *end |= trainer_out_of_patience(t);
    const bool saves = *end || best || (t->seen & SEEN_SAVE);
    if (saves && !trainer_save(t, *end, error))
        return false;
    if (saves || t->state.evaluated == t->state.attempts)
        trainer_write_report(t, false);
    return true;
}

/* Before the first step of this process: evaluates at step 0, or makes the evaluation that a request to stop had
 * prevented, and saves the checkpoint of that step again with the result. A trained model that the run starts from
 * (train.init) is saved as the best so far. */
static bool before_steps(Trainer *t, GError **error)
{
    bool best = false;
    t->started = t->window_started = clock_seconds();
    if (!trainer_evaluation_due(t, trainer_finished(t)))
        return true;
    if (!trainer_evaluate(t, &best, error))
        return false;
    return (!best && t->saved.attempts != t->state.attempts) || trainer_save(t, false, error);
}

/* Whether --trace records this step: the second one of this process, because the first one is slower (it touches memory
 * and starts threads), or the first if there is only one. */
static bool is_traced(const Trainer *t)
{
    int64_t step = t->total - t->first_step == 1 ? t->first_step : t->first_step + 1;
    return t->trace && t->state.attempts == step;
}

/* Rank 0 writes the trace. If it cannot, such as on a full disk, the run does not end. */
static void write_trace(const Trainer *t, const Profile *events, const TraceRanks *ranks)
{
    g_autoptr(GError) problem = NULL;
    int64_t step = t->state.attempts;
    if (comm_rank(t->ranks) > 0)
        return;
    g_autofree char *hidden = comm_size(t->ranks) > 1 ? g_strdup_printf("; %.0f %% of the communication lies beside "
                                                                        "computation",
                                                                        100 * trace_ranks_hidden(ranks))
                                                      : g_strdup("");
    if (trace_write(t->trace, events, ranks, &problem)) {
        log_info("step %" PRId64 "  its trace is in %s%s", step, t->trace, hidden);
        return;
    }
    log_warning("step %" PRId64 ": its trace is not written, and training goes on: %s", step, problem->message);
    metrics_event(t->metrics, step, problem->message);
}

static bool traced_step(Trainer *t, StepStats *stats, GError **error)
{
    Profile events = { .keeps_events = true };
    TraceRanks ranks;
    trace_ranks_begin(&ranks, &t->mesh);
    t->dev->profile = &events;
    profile_begin(t->dev, "step", (int)t->state.attempts + 1);
    bool made = train_step(t, stats, error);
    profile_end(t->dev);
    t->dev->profile = NULL;
    made = made && trace_ranks_end(&ranks, error);
    if (made)
        write_trace(t, &events, &ranks);
    trace_ranks_clear(&ranks);
    profile_clear(&events);
    t->trace = NULL;
    return made;
}

static void note_finished(const Trainer *t)
{
    const bool beyond = t->total >= 0 && t->total < t->state.attempts;
    g_autofree char *asked =
        beyond ? g_strdup_printf(", more than the %" PRId64 " of train.length", t->total) : g_strdup("");
    log_info("nothing left to do at step %" PRId64 "%s%s; a %s goes on from there", t->state.attempts, asked,
             t->changes->len > 0 ? ": the changes above are ignored, the run keeps its configuration" : "",
             trainer_out_of_patience(t) ? "larger train.patience"
             : trainer_stops_here(t)    ? "later train.stop_at"
                                        : "longer train.length");
}

/* The reason why the run ends before train.length. */
static void note_patience(const Trainer *t)
{
    const bool undefined = t->best && isnan(trainer_best_score(t));
    g_autofree char *evaluations = text_counted(t->state.stale, "evaluation");
    g_autofree char *what =
        g_strdup_printf("no better %s in %s%s: the run ends (train.patience)", t->best ? t->best : "held-out loss",
                        evaluations, undefined ? ", the last is undefined (nan)" : "");
    log_info("step %" PRId64 "  %s", t->state.attempts, what);
    metrics_event(t->metrics, t->state.attempts, what);
}

/* Logs a loss spike and its samples. If stats->again is set, saves a checkpoint from before the step, which is then
 * repeated. */
static bool note_spike(Trainer *t, const StepStats *stats, GError **error)
{
    TrainState *state = &t->state;
    const int64_t first = stats->again ? state->samples : state->samples - t->samples;
    g_autofree char *what = g_strdup_printf("loss %.4f is a spike above the mean %.4f; its samples are %" PRId64
                                            " to %" PRId64 "%s (loam inspect batch %s --first %" PRId64 ")",
                                            stats->loss, stats->before.mean, first, first + t->samples - 1,
                                            t->config.train.spike_action == SPIKE_SKIP ? ", and it is skipped" : "",
                                            t->config.run.dir, first);
    const int64_t step = state->attempts + stats->again;
    log_warning("step %" PRId64 "  %s", step, what);
    metrics_event(t->metrics, step, what);
    hooks_call(t->hooks, HOOK_ALERT, step, NULL, what);
    if (comm_rank(t->ranks) == 0)
        spike_report(t->config.run.dir, stats->before, step, first, t->samples, stats->loss);
    if (!stats->again)
        return true;
    t->spike_saved = state->attempts;
    return state->attempts == 0 || trainer_save(t, false, error);
}

/* The event of a run that ends by itself; that of train.patience is written by note_patience. */
static void note_finish(const Trainer *t)
{
    const bool stops = trainer_stops_here(t);
    const char *name = stops ? "train.stop_at" : "train.length";
    if (t->state.attempts == t->first_step || trainer_out_of_patience(t))
        return;
    g_autofree char *value = options_plain_value(config_options(), &t->config, options_find(config_options(), name)),
                    *what = stops ? g_strdup_printf("stopped at step %" PRId64 " (train.stop_at=%s); a later "
                                                    "train.stop_at, or none, goes on from there",
                                                    t->state.attempts, value)
                                  : g_strdup_printf("ended at step %" PRId64 " (train.length=%s)", t->state.attempts,
                                                    value);
    if (stops)
        log_info("%s", what);
    metrics_event(t->metrics, t->state.attempts, what);
}

/* Makes hooks that failed since the last call events of the run. */
static void note_hooks(const Trainer *t)
{
    for (char *problem; (problem = hooks_problem(t->hooks)); g_free(problem))
        metrics_event(t->metrics, t->state.attempts, problem);
}

static bool train_loop(Trainer *t, GError **error)
{
    if (trainer_finished(t))
        note_finished(t);
    for (bool end = trainer_finished(t); !end;) {
        StepStats stats;
        trainer_next_batch(t);
        bool made = is_traced(t) ? traced_step(t, &stats, error) : train_step(t, &stats, error);
        if (!made || !trainer_note_skipped(t, &stats, error))
            return trainer_save_after_error(t, error);
        if (!ranks_check_replicas(t, error))
            return false;
        if ((stats.again || (stats.spike && t->config.train.spike_action == SPIKE_REPORT)) &&
            !note_spike(t, &stats, error))
            return false;
        if (stats.again)
            continue;
        trainer_look(t);
        note_hooks(t);
        end = trainer_finished(t);
        if (!after_step(t, &stats, &end, error))
            return false;
        if (end && trainer_out_of_patience(t))
            note_patience(t);
        if (end && t->state.updates == 0 && t->stuck > 0)
            return trainer_fail_stuck(t, error) || trainer_save_after_error(t, error);
    }
    if (t->trace)
        log_warning("--trace: %s is not written: %s", t->trace,
                    t->state.attempts == t->first_step ? "no step is left to trace"
                                                       : "it is of the second step, and there was only one");
    trainer_report_best(t);
    const bool good = trainer_check_skipped(t, error);
    t->together = !good && mesh_check(&t->mesh, NULL);
    if (good)
        note_finish(t);
    return good;
}

/* Writes the reason why the run ends early to log.txt and metrics.jsonl; main prints it to standard error. */
static void note_end(Trainer *t, const GError *problem)
{
    log_file_only("%s", problem->message);
    if (g_error_matches(problem, LOAM_ERROR, LOAM_ERROR_STOPPED))
        metrics_event(t->metrics, t->state.attempts, problem->message);
    else
        metrics_failure(t->metrics, t->state.attempts, problem->message);
}

/* Queues the hooks on_stop and, after an error, on_alert, and waits for all hooks (hooks_wait). */
static void end_hooks(Trainer *t, const GError *problem)
{
    const bool stopped = g_error_matches(problem, LOAM_ERROR, LOAM_ERROR_STOPPED);
    g_autofree char *ended = g_strdup_printf("the run has ended at step %" PRId64, t->state.attempts);
    trainer_end_save(t);
    if (problem && !stopped)
        hooks_call(t->hooks, HOOK_ALERT, t->state.attempts, NULL, problem->message);
    if (problem || t->state.attempts > t->first_step)
        hooks_call(t->hooks, HOOK_STOP, t->state.attempts, NULL, problem ? problem->message : ended);
    pulse_at(t->pulse, t->state.attempts, 0, "hooks");
    hooks_wait(t->hooks);
    note_hooks(t);
    hooks_close(t->hooks);
    t->hooks = NULL;
}

/* Writes into the log where each rank stands, a line for those that stand alike. */
static void log_places(const char *dir, double now)
{
    g_autofree char *places = heartbeat_places(dir, now);
    g_auto(GStrv) lines = g_strsplit(places ? places : "", "\n", -1);
    for (char **line = lines; *line; line++)
        log_info("  %s", *line);
}

/* Adds to the message where the rank that did not answer was last seen: its host, step and phase. One rank logs where
 * the others stand. */
static void name_lost(const Trainer *t, GError *problem)
{
    Heartbeat beat;
    const int lost = mesh_lost(&t->mesh);
    const double now = (double)g_get_real_time() / 1e6;
    if (comm_rank(t->ranks) == (lost == 0))
        log_places(t->config.run.dir, now);
    if (!heartbeat_read(t->config.run.dir, lost, &beat))
        return;
    g_autofree char *place = heartbeat_describe(&beat, now);
    char *message = g_strdup_printf("%s; last seen: %s", problem->message, place);
    g_free(problem->message);
    problem->message = message;
}

/* Runs one rank from start to end. An error or stop on one rank ends all ranks. */
static bool run_rank(const Config *config, const char *trace, Comm *ranks, SharedData *shared, GError **error)
{
    Trainer t = { .ranks = ranks,
                  .shared = shared,
                  .config = *config,
                  .trace = trace,
                  .command_started = clock_seconds(),
                  .lock = -1,
                  .saved = { .attempts = -1, .best_step = -1 } };
    GError *problem = NULL;
    const MeshShape shape = config_mesh(config);
    t.config.parallel.mesh = &t.mesh;
    fault_set_rank(comm_rank(ranks));
    bool done = mesh_open(&t.mesh, ranks, &shape, &problem) && trainer_open(&t, &problem) &&
                before_steps(&t, &problem) && train_loop(&t, &problem);
    if (g_error_matches(problem, LOAM_ERROR, LOAM_ERROR_STOPPED))
        trainer_save_stopped(&t, &problem);
    else if (problem && !t.together)
        ranks_abort(&t, problem);
    if (problem && mesh_lost(&t.mesh) == 0 && comm_rank(ranks) == 1)
        log_set_rank(0, true); /* if rank 0 was lost, this rank prints the error */
    if (problem && mesh_lost(&t.mesh) >= 0)
        name_lost(&t, problem);
    if (problem)
        note_end(&t, problem);
    end_hooks(&t, problem);
    trainer_close(&t, problem);
    mesh_close(&t.mesh);
    if (problem)
        g_propagate_error(error, problem);
    return done;
}

/* A run whose ranks are threads of this process. */
typedef struct RankRun {
    const Config *config;
    const char *trace;
    SharedData *shared;
} RankRun;

static bool run_thread(Comm *ranks, const void *context, GError **error)
{
    const RankRun *run = context;
    log_set_rank(comm_rank(ranks), false);
    return run_rank(run->config, run->trace, ranks, run->shared, error);
}

static bool run_threads(const Config *config, const char *trace, GError **error)
{
    SharedData shared = { 0 };
    const bool done = launch_threads(config, run_thread, &(RankRun){ config, trace, &shared }, error);
    g_clear_pointer(&shared.train, loader_close);
    g_clear_pointer(&shared.valid, g_ptr_array_unref);
    return done;
}

bool train_agree(const Config *config, bool loaded, GError **error)
{
    stop_catch_signals();
    return launch_agree(config, loaded, error);
}

bool train_run(const Config *config, const char *trace, GError **error)
{
    Comm *world = NULL;
    if (trace && !trace_check(trace, error))
        return false;
    stop_catch_signals(); /* called first, so that MPI's threads also have the signals blocked */
    if (!launch_world(config, &world, error))
        return false;
    const int threads = comm_size(world) == 1 ? launch_thread_ranks(config) : 1;
    if (!config_check_layout(config, MAX(threads, comm_size(world)), error))
        return false;
    if (threads > 1)
        return run_threads(config, trace, error);
    return run_rank(config, trace, world, NULL, error);
}
