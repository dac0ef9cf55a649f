/* step.c: one training step: forward and backward of its microbatches, the update, and the counters. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "device/profile.h"
#include "model/pipeline/pipeline.h"
#include "param/grads.h"
#include "train/trainer/spike.h"
#include "train/trainer/state.h"
#include "train/trainer/stop.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define SHOW_AFTER_S 1 /* seconds: a longer step shows its progress on a terminal */
#define PATIENCE_S   5 /* seconds: after a request to stop, a step with more time left than this is abandoned */

/* Whether a request to stop may abandon this step: only with one rank. Several ranks stop together after the step. */
static bool stops_at_once(const Trainer *t)
{
    return comm_size(t->ranks) == 1 && stop_requested();
}

/* If a batch cannot be read on one rank, all ranks fail with that rank's error. */
static bool borrow_batches(Trainer *t, StepStats *stats, GError **error)
{
    bool read = true;
    memset(t->loss.n_targets, 0, sizeof t->loss.n_targets);
    for (int64_t i = 0; read && i < t->accum; i++) {
        int64_t offset = i * t->micro, n = MIN(t->micro, t->own_samples - offset);
        if (stops_at_once(t))
            return fail_stopped(error);
        const Batch *batch = t->batch[i] =
            prefetch_borrow(t->prefetch, t->state.samples + t->own_first + offset, n, error);
        read = batch != NULL;
        if (!read)
            break;
        stats->tokens += batch_input_stream(batch)->n_tokens;
        stats->room += n * batch_input_stream(batch)->max_len;
        stats->target_tokens += batch->n_targets;
        loss_count(&t->loss, model_config(t->model), batch);
    }
    return ranks_sum_counts(t, stats, read, error);
}

/* Shows the progress of a long step on a terminal, at most every SHOW_AFTER_S: samples done, the loss so far (reading
 * it waits for the device), and the time left. */
static void show_step(const Trainer *t, int64_t done, LossSums *sums, double elapsed, double *shown)
{
    g_autofree char *what = NULL;
    if (elapsed < *shown + SHOW_AFTER_S || !isatty(STDERR_FILENO))
        return;
    if (*shown == 0) {
        what = g_strdup_printf("step %" PRId64, t->state.attempts + 1);
        progress_open(what, "samples", (uint64_t)t->own_samples);
    }
    *shown = elapsed;
    model_take_sums(t->model, sums);
    progress_note("loss %.4f", loss_sums_total(sums));
    progress_update((uint64_t)MIN(done * t->micro, t->own_samples));
}

/* Runs the first microbatch t->empty times more, because other ranks have more microbatches and ranks communicate in
 * each. The losses are discarded, and the gradients are 0: the loss is divided by an infinite number of targets. */
static void run_empty(Trainer *t)
{
    if (comm_size(t->mesh.pipeline) > 1) /* in a pipeline, model_passes runs them among the other passes */
        return;
    ModelLoss nothing = t->loss;
    LossSums unused = { 0 };
    for (int h = 0; h < HEAD_COUNT; h++)
        nothing.n_targets[h] = INFINITY;
    for (int64_t i = 0; i < t->empty; i++)
        model_loss(t->model, t->batch[0], &nothing, &unused);
}

/* Queues the microbatches one after another without waiting for a GPU. `elapsed` is the host's time; on a GPU it agrees
 * with the device's only once the queue (about a thousand launches) is full. After a request to stop, a step of which
 * more than PATIENCE_S is left is abandoned; the resumed run repeats it. */
static bool run_microbatches(Trainer *t, LossSums *sums, GError **error)
{
    if (comm_size(t->mesh.pipeline) > 1) {
        fault_point("microbatch");
        model_passes(t->model, t->batch, (int)t->accum, (int)t->empty, &t->loss);
        return true;
    }
    double start = clock_seconds();
    double shown = 0;
    bool goes_on = true;
    for (int64_t done = 1; goes_on && done <= t->accum; done++) {
        pulse_at(t->pulse, t->state.attempts + 1, done, "forward and backward");
        fault_point("microbatch");
        profile_begin(t->dev, "microbatch", (int)done - 1);
        model_pass(t->model, t->batch[done - 1], &t->loss);
        profile_end(t->dev);
        double elapsed = clock_seconds() - start, left = elapsed / (double)done * (double)(t->accum - done);
        show_step(t, done, sums, elapsed, &shown);
        goes_on = left <= PATIENCE_S || !stops_at_once(t) || fail_stopped(error);
    }
    if (!goes_on)
        model_take_sums(t->model, sums); /* discards the sums of the abandoned step */
    progress_close();
    return goes_on;
}

static void count_update(UpdateSums *sums, const StepStats *stats, int64_t samples, double clip_norm)
{
    sums->updates++;
    sums->tokens += stats->tokens;
    sums->samples += samples;
    sums->clipped += clip_norm > 0 && stats->norm > clip_norm;
    sums->norms += stats->norm;
}

/* Advances the counters; a skipped step consumes its samples too. */
static void count_step(Trainer *t, const StepStats *stats)
{
    TrainState *state = &t->state;
    t->window_rows += stats->room;
    state->target_tokens += stats->target_tokens;
    t->window_tokens += stats->tokens;
    t->step_tokens = stats->tokens;
    state->tokens += stats->tokens;
    state->attempts++;
    state->trained_s = stats->trained_s;
    state->samples += t->samples;
    t->step_samples = state->samples - t->samples_before;
    t->samples_before = state->samples;
    t->window_samples += t->samples;
    t->window_own_samples += t->own_samples;
    state->spike_step = stats->spike ? state->attempts : state->spike_step;
    spike_count(state, &t->config.train, stats->loss);
    state->window_skipped += !stats->updated;
    state->window_nan += !loss_sums_finite(&stats->sums);
    state->skipped = stats->updated || stats->spike ? 0 : state->skipped + 1;
    if (!stats->updated)
        return;
    state->updates++;
    state->update_samples += t->samples;
    state->window_steps++;
    loss_sums_add(&state->window, &stats->sums);
    count_update(&state->window_updates, stats, t->samples, t->config.optim.clip_norm);
}

static bool scales_loss(const Trainer *t)
{
    return t->config.train.precision == PRECISION_FP16;
}

/* Sets stats->spike. If the checkpoint before a spike is not saved yet, stats->again ends the step here, before
 * anything has changed; it is repeated after the save. */
static void find_spike(Trainer *t, StepStats *stats)
{
    const int action = t->config.train.spike_action;
    stats->loss = loss_sums_total(&stats->sums);
    stats->before = spike_level(&t->state);
    stats->spike = stats->updated && spike_is(&t->state, &t->config.train, stats->loss);
    stats->again = stats->spike && action != SPIKE_REPORT && t->spike_saved != t->state.attempts;
    stats->updated = stats->updated && !(stats->spike && action == SPIKE_SKIP);
}

/* Seconds that the run has trained, the same on all ranks; 0 unless train.length is a time. */
static double trained_s(Trainer *t)
{
    if (t->config.train.length.unit != UNIT_SECONDS)
        return 0;
    return t->first_trained_s + (double)ranks_agree(t, (int64_t)(1e6 * (clock_seconds() - t->started))) / 1e6;
}

/* Runs the optimizer, unless the loss or the gradients are not finite, the step is a loss spike that is skipped, or
 * stats->again is set. Losses and gradient norm are read together, so that they cost one wait for the device; otherwise
 * a step waits only in show_step and fp8_share. If a rank was lost, fails without an update. */
static bool update(Trainer *t, StepStats *stats, GError **error)
{
    pulse_at(t->pulse, t->state.attempts + 1, 0, "update");
    profile_begin(t->dev, "update", -1);
    grads_norm_begin(model_params(t->model));
    model_take_sums(t->model, &stats->sums);
    if (fault_due("nan"))
        stats->sums.head[loss_sums_main(&stats->sums)].loss = NAN;
    ranks_sum_losses(t, &stats->sums);
    stats->norm = grads_norm(model_params(t->model)) / stats->loss_scale;
    stats->updated = isfinite(stats->norm) && loss_sums_finite(&stats->sums);
    find_spike(t, stats);
    bool whole = mesh_check(&t->mesh, error);
    int64_t update = t->state.updates + 1;
    const ScheduleCounts before = trainer_counts(&t->state),
                         after = { update, before.samples + t->samples, before.tokens + stats->tokens,
                                   stats->trained_s = trained_s(t) };
    stats->lr = schedule_lr(&t->schedule, before, after);
    optimizer_set_weight_decay(t->optimizer, schedule_weight_decay(&t->schedule, before));
    if (stats->updated && whole && !stats->again)
        t->state.lr = stats->lr;
    if (stats->updated && whole && !stats->again)
        stats->lr = optimizer_step(t->optimizer, update, stats->lr, stats->norm, stats->loss_scale);
    profile_end(t->dev);
    return whole;
}

static bool make_step(Trainer *t, StepStats *stats, GError **error)
{
    *stats = (StepStats){ 0 };
    pulse_at(t->pulse, t->state.attempts + 1, 0, "data");
    fault_point("step");
    profile_begin(t->dev, "data", -1);
    double start = clock_seconds();
    bool borrowed = borrow_batches(t, stats, error);
    t->window_waited += clock_seconds() - start;
    profile_end(t->dev);
    if (!borrowed)
        return false;
    stats->loss_scale = t->loss.loss_scale = scales_loss(t) ? t->state.loss_scale.scale : 1;
    grads_begin(model_params(t->model), t->accum + t->empty);
    Fp8Scales *fp8 = model_fp8(t->model);
    if (fp8)
        fp8_keep(fp8);
    const double passes = clock_seconds();
    run_empty(t);
    if (!run_microbatches(t, &stats->sums, error)) {
        if (fp8)
            fp8_undo(fp8);
        return false;
    }
    pipeline_sum_tied(t->model);
    const double updates = clock_seconds();
    t->window_passes += updates - passes;
    if (!update(t, stats, error))
        return false;
    t->window_update += clock_seconds() - updates;
    if (fp8 && stats->again)
        fp8_undo(fp8);
    if (stats->again)
        return true;
    if (fp8 && stats->updated)
        fp8_share(fp8, t->ranks, t->accum + t->empty);
    if (fp8 && !stats->updated)
        fp8_undo(fp8); /* removes amaxes that are not finite, which would spoil the FP8 scale for as long as they are in
                          the history */
    count_step(t, stats);
    if (!scales_loss(t) || loss_scale_update(&t->state.loss_scale, &t->loss_scale, !stats->updated && !stats->spike))
        return true;
    if (!loss_sums_finite(&stats->sums))
        return fail_user(error,
                         "step %" PRId64 ": the loss is not finite at the smallest loss scale, %g, which changes no "
                         "loss: activations overflow in fp16; go on with train.precision=bf16, or lower optim.lr",
                         t->state.attempts, stats->loss_scale);
    return fail_user(error,
                     "step %" PRId64 ": gradients overflow at the smallest loss scale, %g; lower optim.lr, or go on "
                     "with train.precision=bf16",
                     t->state.attempts, stats->loss_scale);
}

bool train_step(Trainer *t, StepStats *stats, GError **error)
{
    const int64_t sent = model_sent_bytes(t->model);
    const double waited = mesh_waited_s(&t->mesh);
    bool made = make_step(t, stats, error);
    t->window_sent += model_sent_bytes(t->model) - sent;
    t->window_comm_wait += mesh_waited_s(&t->mesh) - waited;
    for (int64_t i = 0; i < t->accum; i++) {
        prefetch_give_back(t->prefetch, t->batch[i]);
        t->batch[i] = NULL;
    }
    return made;
}
