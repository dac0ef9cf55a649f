#include "train/trainer.h"

#include "base/fault.h"
#include "base/log.h"
#include "eval/heldout.h"
#include "train/stop.h"
#include "train/trainer_state.h"

#include <inttypes.h>
#include <math.h>

#define MAX_SKIPPED 100 /* consecutive steps without a finite gradient before the run is given up */

/* Asked once a step: whether it is time. */
static bool due(const Trainer *t, const Every *every)
{
    return every_due(every, t->state.attempts, t->state.tokens, t->step_tokens);
}

/* Seconds to the end at the pace of this process; -1: not known. */
static double seconds_left(const Trainer *t)
{
    const TrainState *state = &t->state;
    double elapsed = seconds_since(t->started);
    if (t->total_tokens > 0)
        return elapsed / (double)(state->tokens - t->first_tokens) * MAX(t->total_tokens - (double)state->tokens, 0);
    return t->total > 0 ? elapsed / (double)(state->attempts - t->first_step) * (double)(t->total - state->attempts)
                        : -1;
}

static void log_step(Trainer *t, const StepStats *stats)
{
    TrainState *state = &t->state;
    double elapsed = seconds_since(t->window_started);
    int64_t steps = MAX(state->attempts - t->window_step, 1);
    TrainRecord record = { .state = state,
                           .lr = stats->lr,
                           .grad_norm = stats->norm,
                           .tokens_per_s = (double)t->window_tokens / elapsed,
                           .step_s = elapsed / (double)steps,
                           .fill = (double)t->window_tokens / (double)t->window_rows,
                           .left_s = seconds_left(t),
                           .total_steps = MAX(t->total, 0) };
    record.flops_per_s = t->step_flops / record.step_s;
    record.mfu = record.flops_per_s / t->peak_flops;
    if (state->window_steps)
        metrics_train(t->metrics, &record);
    state->window = (LossSums){ 0 };
    state->window_steps = 0;
    t->window_started = g_get_monotonic_time();
    t->window_step = state->attempts;
    t->window_tokens = t->window_rows = 0;
    every_done(&t->log_every);
}

/* Whether an evaluation belongs to where the run stands and has not been made: also after a stop that left no time for
 * it. */
static bool evaluation_due(const Trainer *t, bool end)
{
    const TrainState *state = &t->state;
    return t->valid->len > 0 && state->evaluated != state->attempts &&
           (end || state->attempts == 0 || state->evaluation_left || due(t, &t->eval_every));
}

typedef struct SetResult {
    LossSums sums;
    double seconds;
} SetResult;

/* Every set, before any is reported: an evaluation that a stop abandons leaves no line of its step. */
static bool evaluate_sets(Trainer *t, SetResult *results, GError **error)
{
    for (guint i = 0; i < t->valid->len; i++) {
        const HeldoutSet *set = t->valid->pdata[i];
        gint64 start = g_get_monotonic_time();
        if (!heldout_loss(t->model, set->loader, t->config.train.eval_samples, t->micro, stop_requested,
                          &results[i].sums, error))
            return false;
        results[i].seconds = seconds_since(start);
    }
    for (guint i = 0; i < t->valid->len; i++)
        metrics_valid(t->metrics, t->state.attempts, ((const HeldoutSet *)t->valid->pdata[i])->name, &results[i].sums,
                      results[i].seconds);
    return true;
}

/* Keeps the loss (nats, that of its labels included) if it is the lowest of the same samples so far; where the curve
 * starts (step 0) there is nothing to keep yet. */
static bool note_best(Trainer *t, const LossSums *sums)
{
    TrainState *state = &t->state;
    double mean = sums->nll / sums->weight + loss_sums_label(sums);
    bool compares = state->best_step >= 0 && state->best_data == t->best_data;
    if (state->attempts == 0 || !isfinite(mean) || (compares && mean >= state->best_loss))
        return false;
    state->best_loss = mean;
    state->best_step = state->attempts;
    state->best_data = t->best_data;
    return true;
}

/* *best: the loss of the first set is the lowest so far. */
static bool evaluate(Trainer *t, bool *best, GError **error)
{
    gint64 start = g_get_monotonic_time();
    g_autofree SetResult *results = g_new0(SetResult, t->valid->len);
    fault_point("evaluation");
    if (!evaluate_sets(t, results, error))
        return false;
    t->state.evaluated = t->state.attempts;
    t->state.evaluation_left = 0;
    *best = note_best(t, &results[0].sums);
    t->window_started += g_get_monotonic_time() - start; /* evaluation does not slow the training rate shown */
    t->started += g_get_monotonic_time() - start;
    every_done(&t->eval_every);
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
                              .roles = model_roles(t->model),
                              .tokenizer_hash = tokenizer_hash(t->tok) };
    if (!checkpoint_save(folder, &checkpoint, error) || !run_link(dir, "latest", t->state.attempts, error) ||
        (t->state.best_step == t->state.attempts && !run_link(dir, "best", t->state.attempts, error)))
        return false;
    t->saved = t->state;
    return run_retain(dir, train->keep_last, train->keep_every, t->state.best_step, error);
}

/* What is left where a save failed. */
static const char *what_stands(const Trainer *t)
{
    return t->saved.attempts >= 0 ? "the checkpoint before it stands" : "no save has succeeded so far";
}

/* A save that fails leaves the one before it in place; training goes on unless this was the last chance. */
static bool save(Trainer *t, bool last, GError **error)
{
    if (t->saved.attempts == t->state.attempts && t->saved.evaluated == t->state.evaluated &&
        t->saved.evaluation_left == t->state.evaluation_left)
        return true;
    gint64 start = g_get_monotonic_time();
    g_autofree char *folder = run_checkpoint_path(t->config.run.dir, t->state.attempts);
    g_autoptr(GError) problem = NULL;
    fault_point("save");
    bool written = write_checkpoint(t, folder, &problem);
    if (!written) { /* the best one is what a checkpoint holds */
        t->state.best_loss = t->saved.best_loss;
        t->state.best_step = t->saved.best_step;
        t->state.best_data = t->saved.best_data;
    }
    every_done(&t->save_every);
    every_done(&t->save_within);
    if (written) {
        metrics_save(t->metrics, t->state.attempts, folder, seconds_since(start));
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

/* After an error, which stays as it is: what was trained before it is kept. A stop is saved where the run ends. */
static bool save_what_stands(Trainer *t, GError **error)
{
    if (!g_error_matches(*error, LOAM_ERROR, LOAM_ERROR_STOPPED) && t->state.attempts > 0 && save(t, false, NULL) &&
        t->saved.attempts == t->state.attempts)
        fail_context(error, "after step %" PRId64 ", which is saved", t->state.attempts);
    return false;
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

bool trainer_finished(const Trainer *t)
{
    if (t->total_tokens > 0)
        return (double)t->state.tokens >= t->total_tokens;
    if (t->total >= 0)
        return t->state.attempts >= t->total;
    return seconds_since(t->started) >= t->config.train.length.value;
}

/* Log, evaluation and save, where they are due after a step. A stop leaves the evaluation to the run that goes on. */
static bool after_step(Trainer *t, const StepStats *stats, bool end, GError **error)
{
    bool best = false;
    if (due(t, &t->log_every))
        log_step(t, stats);
    if (!end && stop_requested())
        return fail_stopped(error);
    if (evaluation_due(t, end) && !evaluate(t, &best, error))
        return save_what_stands(t, error);
    return !(end || best || due(t, &t->save_every) || due(t, &t->save_within)) || save(t, end, error);
}

/* Before the first step: the evaluation that begins the curve, or the one that a stop left no time for. A checkpoint of
 * this very step then knows of it. */
static bool before_steps(Trainer *t, GError **error)
{
    bool best = false;
    t->started = t->window_started = g_get_monotonic_time();
    if (!evaluation_due(t, trainer_finished(t)))
        return true;
    if (!evaluate(t, &best, error))
        return false;
    return t->saved.attempts != t->state.attempts || save(t, false, error);
}

static bool train_loop(Trainer *t, GError **error)
{
    if (trainer_finished(t))
        log_info("nothing left to do at step %" PRId64 "; a longer train.length goes on from there", t->state.attempts);
    for (bool end = trainer_finished(t); !end;) {
        StepStats stats;
        if (!train_step(t, &stats, error) || !note_skipped(t, &stats, error))
            return save_what_stands(t, error);
        end = trainer_finished(t);
        if (!after_step(t, &stats, end, error))
            return false;
    }
    return true;
}

/* A stop keeps all that was done; an evaluation that is due is made by the run that goes on. */
static void save_stopped(Trainer *t, GError **error)
{
    t->state.evaluation_left = evaluation_due(t, trainer_finished(t));
    g_clear_error(error);
    if (save(t, true, error))
        g_set_error(error, LOAM_ERROR, LOAM_ERROR_STOPPED,
                    "stopped on request at step %" PRId64 ", checkpoint saved; the same command goes on from there",
                    t->state.attempts);
}

/* Why a run ended before its time: standard error is told by the program's end. */
static void note_end(Trainer *t, const char *reason)
{
    log_file_only("%s", reason);
    if (t->metrics)
        metrics_event(t->metrics, t->state.attempts, reason);
}

bool train_run(const Config *config, GError **error)
{
    Trainer t = { .config = *config, .saved = { .attempts = -1, .best_step = -1 } };
    GError *problem = NULL;
    stop_catch_signals();
    bool done = trainer_open(&t, &problem) && before_steps(&t, &problem) && train_loop(&t, &problem);
    if (g_error_matches(problem, LOAM_ERROR, LOAM_ERROR_STOPPED))
        save_stopped(&t, &problem);
    if (problem)
        note_end(&t, problem->message);
    trainer_close(&t);
    if (problem)
        g_propagate_error(error, problem);
    return done;
}
