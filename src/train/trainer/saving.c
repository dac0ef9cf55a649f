/* saving.c: saves checkpoints: on schedule, when stopped, after an error. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "train/trainer/state.h"

#include <inttypes.h>

static bool write_checkpoint(Trainer *t, const char *folder, GError **error)
{
    const TrainConfig *train = &t->config.train;
    const char *dir = t->config.run.dir;
    Checkpoint checkpoint = { .model = model_config(t->model),
                              .ranks = t->ranks,
                              .params = model_params(t->model),
                              .optimizer = t->optimizer,
                              .fp8 = model_fp8(t->model),
                              .state = &t->state,
                              .roles = model_roles(t->model),
                              .tokenizer_hash = tokenizer_hash(t->tok) };
    if (!checkpoint_save(folder, &checkpoint, error))
        return false;
    if (comm_rank(t->ranks) > 0)
        return true;
    if (!run_link(dir, "latest", t->state.attempts, error) ||
        (t->state.best_step == t->state.attempts && !run_link(dir, "best", t->state.attempts, error)))
        return false;
    return run_retain(dir, train->keep_last, train->keep_every, t->state.best_step, error);
}

/* Each rank writes its part; rank 0 writes everything that is not sharded. */
static bool save_together(Trainer *t, const char *folder, GError **error)
{
    if (comm_rank(t->ranks) == 0)
        fault_point("save");
    bool written = comm_agree(t->ranks, write_checkpoint(t, folder, error), error);
    if (written)
        t->saved = t->state;
    return written;
}

/* For messages after a failed save. */
static const char *what_stands(const Trainer *t)
{
    return t->saved.attempts >= 0 ? "the checkpoint before it stands" : "no save has succeeded so far";
}

bool trainer_save(Trainer *t, bool last, GError **error)
{
    if (t->saved.attempts == t->state.attempts && t->saved.evaluated == t->state.evaluated &&
        t->saved.evaluation_left == t->state.evaluation_left)
        return true;
    double start = clock_seconds();
    g_autofree char *folder = run_checkpoint_path(t->config.run.dir, t->state.attempts);
    g_autoptr(GError) problem = NULL;
    bool written = save_together(t, folder, &problem);
    if (!written) { /* best_value must be that of a checkpoint that exists */
        t->state.best_value = t->saved.best_value;
        t->state.best_step = t->saved.best_step;
        t->state.best_data = t->saved.best_data;
    }
    every_done(&t->save_every);
    every_done(&t->save_within);
    if (written) {
        metrics_save(t->metrics, t->state.attempts, folder, clock_seconds() - start);
    } else if (last) {
        g_propagate_error(error, g_steal_pointer(&problem));
        return fail_context(error, "the last save failed, %s", what_stands(t));
    } else {
        log_warning("step %" PRId64 " was not saved, %s and training goes on: %s", t->state.attempts, what_stands(t),
                    problem->message);
        metrics_event(t->metrics, t->state.attempts, problem->message);
    }
    return true;
}

bool trainer_save_after_error(Trainer *t, GError **error)
{
    if (comm_size(t->ranks) > 1) /* the error may be of one rank, and saving needs all of them */
        return false;
    if (!g_error_matches(*error, LOAM_ERROR, LOAM_ERROR_STOPPED) && t->state.attempts > 0 &&
        trainer_save(t, false, NULL) && t->saved.attempts == t->state.attempts)
        fail_context(error, "after step %" PRId64 ", which is saved", t->state.attempts);
    return false;
}

void trainer_save_stopped(Trainer *t, GError **error)
{
    t->state.evaluation_left = trainer_evaluation_due(t, trainer_finished(t));
    g_clear_error(error);
    if (trainer_save(t, true, error))
        g_set_error(error, LOAM_ERROR, LOAM_ERROR_STOPPED,
                    "stopped on request at step %" PRId64 ", checkpoint saved; the same command goes on from there",
                    t->state.attempts);
}
