/* saving.c: saves checkpoints: on schedule, when stopped, after an error. With train.save_async another thread of each
 * rank writes a copy of the state while training goes on, over a group of ranks of its own (Trainer.save_ranks). */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "train/trainer/rollback.h"
#include "train/trainer/state.h"

#include <inttypes.h>

#define LONG_WAIT_S 1 /* seconds: a longer wait for the previous save is logged */

struct Save {
    Snapshot *snapshot;
    TrainState state; /* of the checkpoint that this save writes */
    Comm *ranks;
    const char *dir; /* run directory */
    const RunFolder *run_folder;
    int *lock; /* of the run directory; -1 on ranks above 0 */
    RunKeep keep;
    char *folder;            /* of the checkpoint that this save writes */
    double stall_s, write_s; /* seconds that training waited for this save; seconds that writing took */
    GThread *thread;         /* the thread that writes; NULL means that the trainer's own thread writes */
    gint done;               /* atomic: 1 when the thread is at its end */
    bool written;
    GError *problem;
};

/* The checkpoints to keep: as the options train.keep_* say, the best one, those before and after the last loss spike,
 * those that hooks use, and while steps are skipped the last one whose weights are known to be finite. */
static RunKeep keep_of(const Trainer *t)
{
    const TrainConfig *train = &t->config.train;
    const int64_t spike = t->state.spike_step, before = spike > 0 ? spike - 1 : -1,
                  after = spike > 0 ? spike + train->spike_after : -1;
    RunKeep keep = { train->keep_last,
                     train->keep_every,
                     train->keep_best > 1 ? train->keep_best : 0,
                     { t->state.best_step, t->spike_saved, before, after, -1, -1, -1,
                       t->state.skipped > 0 ? trainer_good_checkpoint(t) : -1 } };
    hooks_steps(t->hooks, &keep.steps[4]);
    return keep;
}

/* Runs the hooks on_save and on_best, or on_alert, for a save that has ended. */
static void call_hooks(Trainer *t, const Save *save)
{
    const TrainState *state = &save->state;
    g_autofree char *what =
        g_strdup_printf("step %" PRId64 "%s%s", state->attempts,
                        save->written ? " saved" : " was not saved: ", save->written ? "" : save->problem->message);
    hooks_call(t->hooks, save->written ? HOOK_SAVE : HOOK_ALERT, state->attempts, save->written ? save->folder : NULL,
               what);
    if (save->written && state->best_step == state->attempts)
        hooks_call(t->hooks, HOOK_BEST, state->attempts, save->folder, what);
}

static Save *save_new(Trainer *t, Comm *ranks)
{
    Save *save = g_new0(Save, 1);
    json_auto_t *options = config_record(&t->config);
    const Checkpoint checkpoint = { .model = model_config(t->model),
                                    .ranks = ranks,
                                    .params = model_params(t->model),
                                    .optimizer = t->optimizer,
                                    .fp8 = model_fp8(t->model),
                                    .state = &t->state,
                                    .roles = model_roles(t->model),
                                    .tokenizer_hash = tokenizer_hash(t->tok),
                                    .options = options };
    *save = (Save){ .snapshot = snapshot_take(&checkpoint),
                    .state = t->state,
                    .ranks = ranks,
                    .dir = t->config.run.dir,
                    .run_folder = &t->folder,
                    .lock = &t->lock,
                    .keep = keep_of(t),
                    .folder = run_checkpoint_path(t->config.run.dir, t->state.attempts) };
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
    run_link(save->dir, "latest", state->attempts);
    if (state->best_step == state->attempts)
        run_link(save->dir, "best", state->attempts);
    if (!rollback_forget(save->dir, error))
        return false;
    return run_retain(save->dir, &save->keep, error);
}

/* Each rank writes its part; rank 0 writes the rest. */
static void run_save(Save *save)
{
    double start = clock_seconds();
    if (comm_rank(save->ranks) == 0)
        fault_point("save");
    const bool here = *save->lock < 0 || run_check_here(save->dir, save->run_folder, save->lock, &save->problem);
    save->written = comm_agree(save->ranks, here, &save->problem) &&
                    comm_agree(save->ranks, write_checkpoint(save), &save->problem);
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
static const char *what_stands(const Trainer *t)
{
    return t->saved.attempts >= 0 ? "the previous checkpoint is kept" : "no save has succeeded so far";
}

/* After a failed save of the best checkpoint: restores best_value and best_step of the previous one, which exists on
 * disk. */
static void forget_best(Trainer *t, const Save *save)
{
    if (t->state.best_step != save->state.best_step)
        return;
    t->state.best_value = t->saved.best_value;
    t->state.best_step = t->saved.best_step;
    t->state.best_data = t->saved.best_data;
}

/* Logs the result of a save and frees it. last: a failure is an error, since there is no later attempt. */
static bool end_save(Trainer *t, Save *save, bool last, GError **error)
{
    bool fatal = !save->written && last;
    call_hooks(t, save);
    t->stops.longest_save = MAX(t->stops.longest_save, save->write_s);
    if (save->written)
        t->saved = save->state;
    else
        forget_best(t, save);
    if (save->written) {
        metrics_save(t->metrics, save->state.attempts, save->folder, save->write_s, save->stall_s);
    } else if (fatal) {
        g_propagate_error(error, g_steal_pointer(&save->problem));
        fail_context(error, "the last save failed, %s", what_stands(t));
    } else {
        log_warning("step %" PRId64 " was not saved, %s and training goes on: %s", save->state.attempts, what_stands(t),
                    save->problem->message);
        metrics_event(t->metrics, save->state.attempts, save->problem->message);
    }
    save_free(save);
    return !fatal;
}

void trainer_end_save(Trainer *t)
{
    Save *save = t->save;
    if (save == NULL)
        return;
    double start = clock_seconds();
    g_thread_join(save->thread);
    save->stall_s += clock_seconds() - start;
    if (clock_seconds() - start > LONG_WAIT_S)
        log_info("waited %.1fs for the save of step %" PRId64, clock_seconds() - start, save->state.attempts);
    t->save = NULL;
    end_save(t, save, false, NULL);
}

/* A failed save is left to trainer_end_save, which all ranks call at the same step. */
void trainer_look_at_save(Trainer *t)
{
    if (t->save && g_atomic_int_get(&t->save->done) && t->save->written)
        trainer_end_save(t);
}

bool trainer_save(Trainer *t, bool last, GError **error)
{
    double start = clock_seconds();
    pulse_at(t->pulse, t->state.attempts, 0, "save");
    trainer_end_save(t);
    if (t->saved.attempts == t->state.attempts && t->saved.evaluated == t->state.evaluated &&
        t->saved.evaluation_left == t->state.evaluation_left)
        return true;
    if (!mesh_check(&t->mesh, error)) /* if a rank failed during the update, some weights are updated and others not */
        return false;
    const bool beside = t->save_ranks && !last;
    Save *save = save_new(t, beside ? t->save_ranks : t->ranks);
    if (beside) {
        snapshot_detach(save->snapshot);
        save->stall_s = clock_seconds() - start;
        save->thread = g_thread_new("save", save_thread, save);
        t->save = save;
    } else {
        run_save(save);
        save->stall_s = clock_seconds() - start;
    }
    phases_done(&t->save_every);
    every_done(&t->save_within);
    const bool saved = beside || end_save(t, save, last, error);
    t->window_started += clock_seconds() - start; /* the reported training speed excludes saves */
    return saved;
}

bool trainer_save_after_error(Trainer *t, GError **error)
{
    if (g_error_matches(*error, LOAM_ERROR, LOAM_ERROR_STOPPED))
        return false;
    t->together = mesh_check(&t->mesh, NULL);
    if (t->together && t->state.attempts > 0) {
        trainer_save(t, false, NULL);
        trainer_end_save(t);
        t->together = mesh_check(&t->mesh, NULL);
    }
    if (t->saved.attempts >= 0 && t->saved.attempts == t->state.attempts)
        fail_context(error, "after step %" PRId64 ", which is saved", t->state.attempts);
    else if (t->saved.attempts >= 0)
        fail_context(error, "after step %" PRId64 ", the checkpoint of step %" PRId64 " is kept", t->state.attempts,
                     t->saved.attempts);
    return false;
}

void trainer_save_stopped(Trainer *t, GError **error)
{
    t->state.evaluation_left = trainer_evaluation_due(t, trainer_finished(t));
    g_clear_error(error);
    const StopRule rule = (StopRule)(t->seen / SEEN_RULE);
    g_autofree char *what = stop_rule_describe(&t->config, rule);
    if (trainer_save(t, true, error))
        g_set_error(error, LOAM_ERROR, LOAM_ERROR_STOPPED,
                    "stopped %s at step %" PRId64 ", checkpoint saved; the same command goes on from there%s", what,
                    t->state.attempts, rule == STOP_FILE ? ", once this file is removed" : "");
}
