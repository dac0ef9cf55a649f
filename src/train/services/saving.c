/* saving.c: checkpoints. With train.save_async another thread of each rank writes a copy of the state while training
 * goes on, over a group of ranks of its own (Trainer.save_ranks). */
#include "base/fault.h"
#include "train/services/service.h"
#include "train/train.h"

#define LONG_WAIT_S 1 /* seconds: a longer wait for the previous save is logged */

/* A checkpoint that is being written. */
typedef struct Save {
    Snapshot *snapshot;
    TrainState state; /* of the checkpoint that this save writes */
    Comm *ranks;
    const char *dir; /* run directory */
    RunHold *hold;   /* its lock is -1 on ranks above 0 */
    RunKeep keep;
    char *folder;            /* of the checkpoint that this save writes */
    double stall_s, write_s; /* seconds that training waited for this save; seconds that writing took */
    GThread *thread;         /* the thread that writes; NULL means that the trainer's own thread writes */
    gint done;               /* atomic: 1 when the thread is at its end */
    bool here;               /* the run directory was at its place */
    bool written;
    GError *problem;
} Save;

typedef struct Saving {
    TrainState *counters; /* best_* */
    Phases every;
    Every within;     /* train.save_within */
    Save *save;       /* the checkpoint that a thread writes; NULL means none */
    TrainState saved; /* state in the newest valid checkpoint; steps -1 means that there is no checkpoint */
} Saving;

static void *saving_open(const Trainer *t, G_GNUC_UNUSED GError **error)
{
    Saving *saving = g_new0(Saving, 1);
    const TrainConfig *train = &t->config.train;
    saving->saved = t->start.resumed ? t->state : (TrainState){ .steps = -1, .best_step = -1 };
    saving->every = phases_of(&t->config, loader_epoch_packed(t->train), trainer_counts_tokens(t));
    if (train->save_every.unit != UNIT_SECONDS)
        saving->within = trainer_every(t, train->save_within);
    return saving;
}

static unsigned saving_due(void *own, G_GNUC_UNUSED const Trainer *t, const EveryCounts *counts)
{
    const Saving *saving = own;
    return every_due(phases_at(&saving->every, counts), counts) || every_due(&saving->within, counts) ? DUE_SAVE : 0;
}

/* The checkpoints to keep: as the options train.keep_* say, and those that services need. */
static RunKeep keep_of(const Trainer *t)
{
    const TrainConfig *train = &t->config.train;
    RunKeep keep = { train->keep_last, train->keep_every, train->keep_best > 1 ? train->keep_best : 0, { 0 } };
    KeptSteps kept = { keep.steps, 0, (int)G_N_ELEMENTS(keep.steps) };
    services_keep(t, &kept);
    while (kept.n < kept.capacity)
        service_keep(&kept, -1);
    return keep;
}

static Save *save_new(const Saving *saving, const Trainer *t, Comm *ranks)
{
    Save *save = g_new0(Save, 1);
    json_auto_t *options = config_record(&t->config);
    Checkpoint checkpoint = trainer_checkpoint(t, ranks, saving->counters);
    checkpoint.tokenizer_hash = tokenizer_hash(t->tok);
    checkpoint.options = options;
    *save = (Save){ .snapshot = snapshot_take(&checkpoint),
                    .state = t->state,
                    .ranks = ranks,
                    .dir = t->config.run.dir,
                    .hold = t->hold,
                    .keep = keep_of(t),
                    .folder = run_checkpoint_path(t->config.run.dir, t->state.steps) };
    return save;
}

static void save_free(Save *save)
{
    snapshot_free(save->snapshot);
    g_clear_error(&save->problem);
    g_free(save->folder);
    g_free(save);
}

static bool write_checkpoint(Save *save)
{
    const TrainState *state = &save->state;
    GError **error = &save->problem;
    if (!snapshot_write(save->snapshot, save->folder, error))
        return false;
    if (comm_rank(save->ranks) > 0)
        return true;
    run_link(save->dir, "latest", state->steps);
    if (state->best_step == state->steps)
        run_link(save->dir, "best", state->steps);
    if (!rollback_forget(save->dir, error))
        return false;
    return run_retain(save->dir, &save->keep, error);
}

/* Whether the run directory is at its place, on which all ranks agree; if not, save->problem says so alone. */
static bool in_place(Save *save)
{
    g_autoptr(GError) cause = g_steal_pointer(&save->problem);
    const bool here =
        save->hold->lock < 0 || run_check_here(save->dir, &save->hold->folder, &save->hold->lock, &save->problem);
    if (!comm_agree(save->ranks, here, &save->problem))
        return false;
    save->problem = g_steal_pointer(&cause);
    return true;
}

/* Each rank writes its part; rank 0 writes the rest. A failed write may be one into a folder that was moved since. */
static void run_save(Save *save)
{
    double start = clock_seconds();
    if (comm_rank(save->ranks) == 0)
        fault_point("save");
    save->here = in_place(save);
    save->written = save->here && comm_agree(save->ranks, write_checkpoint(save), &save->problem);
    save->here = save->written || (save->here && in_place(save));
    save->write_s = clock_seconds() - start;
}

static void *save_thread(void *context)
{
    Save *save = context;
    log_set_rank(comm_rank(save->ranks), false);
    fault_set_rank(comm_rank(save->ranks));
    run_save(save);
    g_atomic_int_set(&save->done, 1);
    return NULL;
}

/* Says, in a message about a failed save, what the newest valid checkpoint is. */
static const char *what_stands(const Saving *saving)
{
    return saving->saved.steps >= 0 ? "the previous checkpoint is kept" : "no save has succeeded so far";
}

/* After a failed save of the best checkpoint: restores best_value and best_step of the one on disk. */
static void forget_best(const Saving *saving, const Save *save)
{
    TrainState *state = saving->counters;
    if (state->best_step != save->state.best_step)
        return;
    state->best_value = saving->saved.best_value;
    state->best_step = saving->saved.best_step;
    state->best_data = saving->saved.best_data;
}

/* Records the result of a save and frees it. A failure is an error if no later attempt can be better: of the last save,
 * or in a run directory that was moved. */
static bool end_save(Saving *saving, const Trainer *t, Save *save, bool last, GError **error)
{
    const bool fatal = !save->written && (last || !save->here);
    const int64_t step = save->state.steps;
    const SaveRecord record = { .folder = save->folder,
                                .problem = save->written ? NULL : save->problem->message,
                                .best = save->state.best_step == step,
                                .seconds = save->write_s,
                                .stall_s = save->stall_s };
    if (save->written)
        saving->saved = save->state;
    else
        forget_best(saving, save);
    services_tell(t, &(LogRecord){ METRIC_SAVE, step, .save = record });
    if (fatal) {
        g_propagate_error(error, g_steal_pointer(&save->problem));
        if (last)
            fail_context(error, "the last save failed, %s", what_stands(saving));
    } else if (!save->written) {
        log_warning("step %" PRId64 " was not saved, %s and training goes on: %s", step, what_stands(saving),
                    save->problem->message);
        services_tell(t, &(LogRecord){ METRIC_EVENT, step, .event = { .what = save->problem->message } });
    }
    save_free(save);
    return !fatal;
}

static void wait_for_save(Saving *saving, const Trainer *t)
{
    Save *save = saving->save;
    if (save == NULL)
        return;
    double start = clock_seconds();
    g_thread_join(save->thread);
    save->stall_s += clock_seconds() - start;
    if (clock_seconds() - start > LONG_WAIT_S)
        log_info("waited %.1fs for the save of step %" PRId64, clock_seconds() - start, save->state.steps);
    saving->save = NULL;
    end_save(saving, t, save, false, NULL);
}

void saving_wait(const Trainer *t)
{
    Saving *saving = service_own(t, &saving_service);
    if (saving)
        wait_for_save(saving, t);
}

int64_t saving_saved(const Trainer *t)
{
    const Saving *saving = service_own(t, &saving_service);
    return saving ? saving->saved.steps : -1;
}

/* Ends a save that a thread has written, and never waits. A failed one is left to wait_for_save, which all ranks call
 * at the same step. */
static Verdict saving_after_step(void *own, const Trainer *t, G_GNUC_UNUSED GError **error)
{
    Saving *saving = own;
    if (saving->save && g_atomic_int_get(&saving->save->done) && saving->save->written)
        wait_for_save(saving, t);
    return t->due & DUE_SAVE ? VERDICT_SAVE : VERDICT_GO_ON;
}

bool saving_save(const Trainer *t, bool last, GError **error)
{
    const double start = clock_seconds();
    const TrainState *state = &t->state;
    Saving *saving = service_own(t, &saving_service);
    pulse_at(t->pulse, state->steps, 0, "save");
    wait_for_save(saving, t);
    if (saving->saved.steps == state->steps && saving->saved.evaluated == state->evaluated &&
        saving->saved.evaluation_left == state->evaluation_left)
        return true;
    if (!mesh_check(&t->mesh, error)) /* if a rank failed during the update, some weights are updated and others not */
        return false;
    const bool beside = t->save_ranks && !last;
    Save *save = save_new(saving, t, beside ? t->save_ranks : t->mesh.world);
    if (beside) {
        snapshot_detach(save->snapshot);
        save->stall_s = clock_seconds() - start;
        save->thread = g_thread_new("save", save_thread, save);
        saving->save = save;
    } else {
        run_save(save);
        save->stall_s = clock_seconds() - start;
    }
    phases_done(&saving->every);
    every_done(&saving->within);
    return beside || end_save(saving, t, save, last, error);
}

static void saving_close(void *own, const Trainer *t, G_GNUC_UNUSED const GError *problem)
{
    wait_for_save(own, t);
    g_free(own);
}

const Service saving_service = {
    .open = saving_open, .own_counters = true, .due = saving_due, .after_step = saving_after_step, .close = saving_close
};
