/* loop.c: trains from the first step of this process to the last. */
#include "base/fault.h"
#include "plan/trace.h"
#include "run/launch.h"
#include "train/stop.h"
#include "train/train.h"
#include "train/trainer.h"

/* ---- what the services answer ---- */

/* Its seconds count as no training time in the speed of log lines. */
static bool save(Trainer *t, bool last, GError **error)
{
    const double start = clock_seconds();
    const bool saved = saving_save(t, last, error);
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
static bool follow(Trainer *t, Verdict verdict, GError **error)
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

/* ---- the loop ---- */

/* After a step that has changed something: checks clock and signals and sets t->due, the same on all ranks. */
static bool look_around(Trainer *t, GError **error)
{
    if (t->step.again)
        return true;
    const unsigned stop = comm_max(t->mesh.world, stop_requested()) ? DUE_STOP : 0;
    const Amount length = t->config.train.length;
    const EveryCounts counts = trainer_every_counts(t);
    unsigned due = services_due(t, &counts);
    if (length.unit == UNIT_SECONDS && clock_seconds() - t->clock.started >= length.value)
        due |= DUE_TIME_UP;
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
    if (!look_around(t, error) || !follow(t, services_start(t, error), error))
        return false;
    if (trainer_finished(t))
        end_note_finished(t);
    for (bool last = trainer_finished(t); !last;) {
        trainer_next_batch(t);
        services_before_step(t);
        if (!train_step(t, error))
            return fail_saved(t, error);
        if (!look_around(t, error))
            return false;
        const Verdict verdict = services_after_step(t, error);
        if (!follow(t, verdict, error))
            return false;
        last = verdict == VERDICT_END;
    }
    const Verdict verdict = services_at_end(t, error);
    t->together = verdict == VERDICT_ABORT && mesh_check(&t->mesh, NULL);
    if (!follow(t, verdict, error))
        return false;
    end_note(t);
    return true;
}

/* ---- a rank ---- */

/* What the ranks of this process train. */
typedef struct RankRun {
    const Config *config;
    const char *trace;
    SharedData *shared; /* of ranks that are threads */
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
                  .start = { .trace = run->trace, .command_s = clock_seconds() },
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
    if (problem)
        end_early(&t, &problem);
    trainer_close(&t, problem);
    mesh_close(&t.mesh);
    if (problem)
        g_propagate_error(error, problem);
    return done;
}

bool train_agree(const Config *config, bool loaded, GError **error)
{
    stop_catch_signals();
    return launch_agree(config, loaded, error);
}

bool train_run(const Config *config, const char *trace, GError **error)
{
    SharedData shared = { 0 };
    if (trace && !trace_check(trace, error))
        return false;
    stop_catch_signals(); /* called first, so that MPI's threads also have the signals blocked */
    const bool done = launch_ranks(config, run_training_rank, &(RankRun){ config, trace, &shared }, error);
    g_clear_pointer(&shared.train, loader_close);
    g_clear_pointer(&shared.valid, g_ptr_array_unref);
    return done;
}
