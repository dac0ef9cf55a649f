/* loop.c: trains from the first step of this process to the last, and ends the process. */
#include "base/fault.h"
#include "base/file.h"
#include "plan/trace.h"
#include "run/heartbeat.h"
#include "run/launch.h"
#include "train/train.h"
#include "train/trainer.h"

/* ---- what the services answer ---- */

/* Its seconds count as no training time in the speed of log lines. */
static bool save(Trainer *t, bool last, GError **error)
{
    const double start = clock_seconds();
    const bool saved = saving_save(t, last, error);
    t->together = !saved && mesh_check(&t->mesh, NULL);
    t->clock.paused_s += clock_seconds() - start;
    return saved;
}

/* After an error of training, which all ranks have: saves a checkpoint and says so in the error's message. If a group
 * of ranks has failed, nothing can be saved; the message then says which checkpoint is kept. Returns false. */
static bool fail_saved(Trainer *t, GError **error)
{
    const int64_t step = t->state.steps;
    if (g_error_matches(*error, LOAM_ERROR, LOAM_ERROR_STOPPED))
        return false;
    t->together = mesh_check(&t->mesh, NULL);
    if (t->together && step > 0) {
        save(t, false, NULL);
        saving_wait(t);
        t->together = mesh_check(&t->mesh, NULL);
    }
    const int64_t saved = saving_saved(t);
    if (saved >= 0 && saved == step)
        fail_context(error, "after step %" PRId64 ", which is saved", step);
    else if (saved >= 0)
        fail_context(error, "after step %" PRId64 ", the checkpoint of step %" PRId64 " is kept", step, saved);
    return false;
}

/* False: the run ends with *error. */
static bool obey_verdict(Trainer *t, Verdict verdict, GError **error)
{
    switch (verdict) {
    case VERDICT_GO_ON:
        return true;
    case VERDICT_SAVE:
    case VERDICT_REPEAT:
        return save(t, false, error);
    case VERDICT_END:
        return save(t, true, error);
    case VERDICT_FAIL:
        return fail_saved(t, error);
    case VERDICT_ABORT:
        break;
    }
    return false;
}

/* ---- how a process of a run ends: complete, stopped, or with an error ---- */

/* Says that the run has no step left, and what would let it go on. */
static void note_finished(const Trainer *t)
{
    const bool beyond = t->length.steps >= 0 && t->length.steps < t->state.steps;
    g_autofree char *asked =
        beyond ? g_strdup_printf(", more than the %" PRId64 " of train.length", t->length.steps) : g_strdup("");
    log_info("nothing left to do at step %" PRId64 "%s%s; a %s goes on from there", t->state.steps, asked,
             t->start.finished && t->changes->len > 0
                 ? ": the changes above are ignored, the run keeps its configuration"
                 : "",
             trainer_out_of_patience(t) ? "larger train.patience"
             : trainer_stops_here(t)    ? "later train.stop_at"
                                        : "longer train.length");
}

/* The event of a run that ends by itself; that of train.patience is written by the evaluation. */
static void note_end(const Trainer *t)
{
    const bool stops = trainer_stops_here(t);
    const char *name = stops ? "train.stop_at" : "train.length";
    if (t->start.finished || trainer_out_of_patience(t))
        return;
    g_autofree char *value = options_plain_value(config_options(), &t->config, options_find(config_options(), name)),
                    *what = stops
                                ? g_strdup_printf("stopped at step %" PRId64 " (train.stop_at=%s); a later "
                                                  "train.stop_at, or none, goes on from there",
                                                  t->state.steps, value)
                                : g_strdup_printf("ended at step %" PRId64 " (train.length=%s)", t->state.steps, value);
    if (stops)
        log_info("%s", what);
    services_event(t, what);
}

/* Writes into the log where each rank stands, a line for those that stand alike. */
static void log_places(const char *dir, double now)
{
    g_autofree char *places = heartbeat_places(dir, now);
    g_auto(GStrv) lines = g_strsplit(places ? places : "", "\n", -1);
    for (char **line = lines; *line; line++)
        log_info("  %s", *line);
}

/* Adds to the message the host, step and phase of the rank that did not answer. One rank logs those of others. */
static void name_lost(const Trainer *t, GError *problem)
{
    Heartbeat beat;
    const int lost = mesh_lost(&t->mesh);
    const double now = (double)g_get_real_time() / 1e6;
    if (comm_rank(t->mesh.world) == (lost == 0))
        log_places(t->config.run.dir, now);
    if (!heartbeat_read(t->config.run.dir, lost, &beat))
        return;
    g_autofree char *place = heartbeat_describe(&beat, heartbeat_present(t->config.run.dir, &beat, now));
    char *message = g_strdup_printf("%s; last seen: %s", problem->message, place);
    g_free(problem->message);
    problem->message = message;
}

/* After a request to stop: saves a checkpoint and replaces *error by an error that says so. If an evaluation is due,
 * the checkpoint records it for the next process. */
static void save_stopped(Trainer *t, GError **error)
{
    t->state.evaluation_left = trainer_evaluation_due(t, trainer_finished(t));
    g_clear_error(error);
    const StopRule rule = (StopRule)(t->due / DUE_RULE);
    g_autofree char *what = stop_rule_describe(&t->config, rule);
    if (saving_save(t, true, error))
        g_set_error(error, LOAM_ERROR, LOAM_ERROR_STOPPED,
                    "stopped %s at step %" PRId64 ", checkpoint saved; the same command goes on from there%s", what,
                    t->state.steps, rule == STOP_FILE ? ", once this file is removed" : "");
}

/* A start that failed before the services were open: it is an event of a run that has begun, and its hooks hear of it.
 */
static void tell_failed_start(Trainer *t, const GError *problem)
{
    const char *dir = t->config.run.dir;
    const bool begun = comm_rank(t->mesh.world) == 0 && io_exists(dir, "metrics.jsonl");
    t->state.steps = MAX(run_linked(dir, "latest"), 0); /* the start may have failed before it was read */
    g_autofree char *what = g_strconcat(METRIC_START_FAILED, problem->message, NULL);
    Jsonl *lines = begun ? jsonl_open(dir, INT64_MAX, NULL) : NULL;
    if (lines) {
        jsonl_write(lines, &(LogRecord){ METRIC_EVENT, t->state.steps, .event = { .what = what, .failed = true } });
        jsonl_close(lines);
    }
    services_open_failed(t);
}

/* A request to stop becomes a checkpoint, or else the error of one rank that of all; *problem then says what is saved,
 * and where a lost rank was last seen. */
static void end_early(Trainer *t, GError **problem)
{
    const int rank = comm_rank(t->mesh.world);
    if (g_error_matches(*problem, LOAM_ERROR, LOAM_ERROR_STOPPED))
        save_stopped(t, problem);
    else if (!t->together)
        ranks_abort(t, *problem);
    if (mesh_lost(&t->mesh) == 0 && rank == 1)
        log_set_rank(0, true); /* if rank 0 was lost, this rank prints the error */
    if (mesh_lost(&t->mesh) >= 0)
        name_lost(t, *problem);
    log_file_only("%s", (*problem)->message); /* main prints it to standard error */
    const bool failed = !g_error_matches(*problem, LOAM_ERROR, LOAM_ERROR_STOPPED);
    if (t->services.open)
        services_tell(t,
                      &(LogRecord){ METRIC_EVENT, t->state.steps, .event = { (*problem)->message, .failed = failed } });
    else if (t->pulse && !pulse_is_refused(t, *problem))
        tell_failed_start(t, *problem);
}

/* ---- the loop ---- */

/* After a step that has changed something: checks clock and signals and sets t->due, the same on all ranks. */
static bool look_around(Trainer *t, GError **error)
{
    if (t->step.again)
        return true;
    const unsigned stop = comm_max(t->mesh.world, stop_requested()) ? DUE_STOP : 0;
    const EveryCounts counts = trainer_every_counts(t);
    unsigned due = services_due(t, &counts);
    if (due && t->hold->lock >= 0 && !run_check_here(t->config.run.dir, &t->hold->folder, &t->hold->lock, NULL))
        due |= DUE_MOVED;
    t->due = (unsigned)ranks_agree(t, due) | stop;
    t->step.last = trainer_finished(t);
    if (!(t->due & DUE_MOVED))
        return true;
    /* All ranks end with the same error, and write nothing more by the name of the run directory. */
    t->together = mesh_check(&t->mesh, NULL);
    return run_fail_moved(t->config.run.dir, error);
}

static bool train_loop(Trainer *t, GError **error)
{
    t->clock.started = clock_seconds();
    if (!look_around(t, error) || !obey_verdict(t, services_start(t, error), error))
        return false;
    if (trainer_finished(t))
        note_finished(t);
    for (bool last = trainer_finished(t); !last;) {
        trainer_next_batch(t);
        services_before_step(t);
        if (!train_step(t, error))
            return fail_saved(t, error);
        if (!look_around(t, error))
            return false;
        const Verdict verdict = services_after_step(t, error);
        if (!obey_verdict(t, verdict, error))
            return false;
        last = verdict == VERDICT_END;
    }
    const Verdict verdict = services_at_end(t, error);
    t->together = verdict == VERDICT_ABORT && mesh_check(&t->mesh, NULL);
    if (!obey_verdict(t, verdict, error))
        return false;
    note_end(t);
    return true;
}

/* ---- a rank ---- */

/* What the ranks of this process train. */
typedef struct RankRun {
    const Config *config;
    const char *trace;
    char **ignored;     /* as of train_run */
    SharedData *shared; /* of ranks that are threads */
    double command_s;   /* clock_seconds() at the first train_run of the command, which may train several runs */
} RankRun;

/* Runs one rank from start to end. An error or stop on one rank ends all ranks. */
static bool run_training_rank(Comm *ranks, const void *context, GError **error)
{
    const RankRun *run = context;
    const bool threads = comm_of_threads(ranks);
    if (!config_check_layout(run->config, comm_size(ranks), error))
        return false;
    RunHold hold = { .lock = -1 };
    Trainer t = { .config = *run->config,
                  .shared = threads ? run->shared : NULL,
                  .start = { .trace = run->trace, .command_s = run->command_s },
                  .hold = &hold,
                  .services = services_new() };
    GError *problem = NULL;
    const MeshShape shape = config_mesh(run->config);
    t.config.parallel.mesh = &t.mesh;
    if (threads)
        log_set_rank(comm_rank(ranks), false);
    fault_set_rank(comm_rank(ranks));
    const bool done =
        mesh_open(&t.mesh, ranks, &shape, &problem) && trainer_open(&t, &problem) && train_loop(&t, &problem);
    if (done && run->ignored && comm_rank(ranks) == 0 && trainer_had_ended(&t) && t.changes->len > 0)
        *run->ignored = g_strdup(t.changes->pdata[0]);
    if (problem)
        end_early(&t, &problem);
    trainer_close(&t, problem);
    mesh_close(&t.mesh);
    if (problem)
        g_propagate_error(error, problem);
    return done;
}

bool train_agree(const Config *config, const char *switches, bool loaded, GError **error)
{
    stop_catch_signals();
    return launch_agree(config, switches, loaded, error);
}

bool train_run(const Config *config, const char *trace, char **ignored, GError **error)
{
    static double command_s;
    SharedData shared = { 0 };
    command_s = command_s > 0 ? command_s : clock_seconds();
    if (trace && !trace_check(trace, error))
        return false;
    stop_catch_signals(); /* called first, so that MPI's threads also have the signals blocked */
    const RankRun run = { config, trace, ignored, &shared, command_s };
    const bool done = launch_ranks(config, run_training_rank, &run, error);
    g_clear_pointer(&shared.train, loader_close);
    g_clear_pointer(&shared.valid, g_ptr_array_unref);
    return done;
}
