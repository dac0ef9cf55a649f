#include "train/trainer.h"

#include "base/log.h"
#include "eval/heldout.h"
#include "train/stop.h"
#include "train/trainer_state.h"

#include <inttypes.h>
#include <math.h>

#define MAX_SKIPPED 100 /* consecutive steps without a finite gradient before the run is given up */

/* What a step found. */
typedef struct StepStats {
    LossSums sums;
    double lr, norm;
    bool updated;
} StepStats;

/* ---- one step ---- */

/* Sequences of a batch that a sentence head has a label for. */
static double count_labels(const Batch *batch)
{
    double n = 0;
    for (int32_t i = 0; i < batch_loss_stream(batch)->n_seq; i++)
        n += batch->labels[i] >= 0;
    return n;
}

static bool load_batches(Trainer *t, double *n_targets, GError **error)
{
    *n_targets = t->loss.n_labels = 0;
    for (int64_t i = 0; i < t->accum; i++) {
        int64_t offset = i * t->micro, n = MIN(t->micro, t->samples - offset);
        const Batch *ready;
        if (!prefetch_get(t->prefetch, t->state.samples + offset, n, &ready, error))
            return false;
        batch_copy(t->batch[i], ready);
        *n_targets += (double)ready->n_targets;
        t->loss.n_labels += count_labels(ready);
    }
    return true;
}

/* The counters of data: a skipped step consumes its samples too. */
static void count_step(Trainer *t, const StepStats *stats)
{
    TrainState *state = &t->state;
    for (int64_t i = 0; i < t->accum; i++) {
        const TokenStream *inputs = batch_input_stream(t->batch[i]);
        state->tokens += inputs->n_used;
        t->window_tokens += inputs->n_used;
        t->window_rows += inputs->n_rows;
        state->target_tokens += t->batch[i]->n_targets;
    }
    state->attempts++;
    state->samples += t->samples;
    if (!stats->updated)
        return;
    state->updates++;
    state->window_steps++;
    loss_sums_add(&state->window, &stats->sums);
}

static bool train_step(Trainer *t, StepStats *stats, GError **error)
{
    *stats = (StepStats){ 0 };
    if (!load_batches(t, &t->loss.n_targets, error))
        return false;
    t->loss.n_targets = MAX(t->loss.n_targets, 1); /* short samples may hide nothing: no gradient */
    grads_begin(model_params(t->model));
    for (int64_t i = 0; i < t->accum; i++)
        model_pass(t->model, t->batch[i], &t->loss);
    model_take_sums(t->model, &stats->sums);
    stats->norm = grads_norm(model_params(t->model));
    stats->updated = isfinite(stats->norm) && isfinite(stats->sums.loss) && isfinite(stats->sums.label_nll);
    if (stats->updated) {
        int64_t update = t->state.updates + 1;
        stats->lr = optimizer_step(t->optimizer, update, schedule_lr(&t->schedule, update), stats->norm);
    }
    count_step(t, stats);
    return true;
}

/* ---- what follows a step ---- */

static bool due(int64_t step, int64_t every)
{
    return every > 0 && step % every == 0;
}

static double seconds_since(gint64 start)
{
    return (double)(g_get_monotonic_time() - start) / 1e6;
}

static void log_step(Trainer *t, const StepStats *stats)
{
    TrainState *state = &t->state;
    double elapsed = seconds_since(t->window_started);
    int64_t steps = MAX(state->attempts - MAX(t->first_step, state->attempts - t->log_every), 1);
    TrainRecord record = { .state = state,
                           .lr = stats->lr,
                           .grad_norm = stats->norm,
                           .tokens_per_s = (double)t->window_tokens / elapsed,
                           .step_s = elapsed / (double)steps,
                           .fill = (double)t->window_tokens / (double)t->window_rows,
                           .left_s = -1,
                           .total_steps = MAX(t->total, 0) };
    record.flops_per_s = t->step_flops / record.step_s;
    record.mfu = record.flops_per_s / t->peak_flops;
    if (t->total > 0)
        record.left_s = seconds_since(t->started) / (double)(state->attempts - t->first_step) *
                        (double)(t->total - state->attempts);
    if (state->window_steps)
        metrics_train(t->metrics, &record);
    state->window = (LossSums){ 0 };
    state->window_steps = 0;
    t->window_started = g_get_monotonic_time();
    t->window_tokens = t->window_rows = 0;
}

/* Whether an evaluation belongs to where the run stands and has not been made: also after a stop that left no time for
 * it. */
static bool evaluation_due(const Trainer *t, bool end)
{
    const TrainState *state = &t->state;
    return t->valid->len > 0 && state->evaluated != state->attempts &&
           (end || state->attempts == 0 || due(state->attempts, t->eval_every));
}

/* The mean loss of a held-out set in nats, that of its labels included. */
static bool evaluate_set(Trainer *t, const HeldoutSet *set, double *mean, GError **error)
{
    LossSums sums = { 0 };
    gint64 start = g_get_monotonic_time();
    if (!heldout_loss(t->model, set->loader, t->config.train.eval_samples, t->micro, &sums, error))
        return false;
    metrics_valid(t->metrics, t->state.attempts, set->name, &sums, seconds_since(start));
    *mean = sums.nll / sums.weight + loss_sums_label(&sums);
    return true;
}

/* *best: the lowest loss of the first set so far; where the curve starts (step 0) there is nothing to keep yet. */
static bool evaluate(Trainer *t, bool *best, GError **error)
{
    gint64 start = g_get_monotonic_time();
    double mean = 0, other;
    for (guint i = 0; i < t->valid->len; i++)
        if (!evaluate_set(t, t->valid->pdata[i], i == 0 ? &mean : &other, error))
            return false;
    t->state.evaluated = t->state.attempts;
    *best = t->state.attempts > 0 && isfinite(mean) && (t->state.best_step < 0 || mean < t->state.best_loss);
    if (*best) {
        t->state.best_loss = mean;
        t->state.best_step = t->state.attempts;
    }
    t->window_started += g_get_monotonic_time() - start; /* evaluation does not slow the training rate shown */
    t->started += g_get_monotonic_time() - start;
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
                              .tokenizer_hash = tokenizer_hash(t->tok) };
    if (!checkpoint_save(folder, &checkpoint, error) || !run_link(dir, "latest", t->state.attempts, error) ||
        (t->state.best_step == t->state.attempts && !run_link(dir, "best", t->state.attempts, error)))
        return false;
    t->saved = t->state;
    return run_retain(dir, train->keep_last, train->keep_every, t->state.best_step, error);
}

/* A save that fails leaves the one before it in place; training goes on unless this was the last chance. */
static bool save(Trainer *t, bool last, GError **error)
{
    if (t->saved.attempts == t->state.attempts && t->saved.evaluated == t->state.evaluated)
        return true;
    gint64 start = g_get_monotonic_time();
    g_autofree char *folder = run_checkpoint_path(t->config.run.dir, t->state.attempts);
    g_autoptr(GError) problem = NULL;
    bool written = write_checkpoint(t, folder, &problem);
    if (!written) { /* the best one is what a checkpoint holds */
        t->state.best_loss = t->saved.best_loss;
        t->state.best_step = t->saved.best_step;
    }
    if (written) {
        metrics_save(t->metrics, t->state.attempts, folder, seconds_since(start));
    } else if (last) {
        g_propagate_error(error, g_steal_pointer(&problem));
        return fail_context(error, "the last save failed, the checkpoint before it stands");
    } else {
        log_warning("step %" PRId64 " was not saved, the checkpoint before it stands and training goes on: %s",
                    t->state.attempts, problem->message);
        metrics_event(t->metrics, t->state.attempts, problem->message);
    }
    return true;
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

static bool finished(const Trainer *t)
{
    if (t->total >= 0)
        return t->state.attempts >= t->total;
    return seconds_since(t->started) >= t->config.train.length.value;
}

/* Log, evaluation and save, where they are due after a step. A stop leaves the evaluation to the run that goes on. */
static bool after_step(Trainer *t, const StepStats *stats, bool end, bool stop, GError **error)
{
    bool best = false;
    if (due(t->state.attempts, t->log_every))
        log_step(t, stats);
    if (!stop && evaluation_due(t, end) && !evaluate(t, &best, error))
        return false;
    return !(end || stop || best || due(t->state.attempts, t->save_every)) || save(t, end || stop, error);
}

static bool train_loop(Trainer *t, GError **error)
{
    bool end = finished(t);
    if (end)
        log_info("nothing left to do at step %" PRId64 "; a longer train.length goes on from there", t->state.attempts);
    while (!end) {
        StepStats stats;
        if (!train_step(t, &stats, error) || !note_skipped(t, &stats, error))
            return false;
        end = finished(t);
        bool stop = !end && stop_requested();
        if (!after_step(t, &stats, end, stop, error))
            return false;
        if (stop) {
            g_set_error(error, LOAM_ERROR, LOAM_ERROR_STOPPED,
                        "stopped on request at step %" PRId64 ", checkpoint saved; the same command goes on from there",
                        t->state.attempts);
            return false;
        }
    }
    return true;
}

bool train_run(const Config *config, GError **error)
{
    Trainer t = { .config = *config, .saved = { .attempts = -1, .best_step = -1 } };
    stop_catch_signals(); /* before there are threads, which inherit what is blocked */
    bool best, done = trainer_open(&t, error);
    if (done && evaluation_due(&t, false))
        done = evaluate(&t, &best, error);
    t.started = t.window_started = g_get_monotonic_time();
    done = done && train_loop(&t, error);
    trainer_close(&t);
    return done;
}
