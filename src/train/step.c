/* step.c: one training step: forward and backward of its microbatches, the update, and the counters. */
#include "base/fault.h"
#include "device/profile.h"
#include "model/params/params.h"
#include "train/trainer.h"

#include <string.h>
#include <unistd.h>

#define SHOW_AFTER_S 1 /* seconds: a longer step shows its progress on a terminal */
#define PATIENCE_S   5 /* seconds: after a request to stop, a step with more time left than this is abandoned */

/* Whether a request to stop may abandon this step: only with one rank. Several ranks stop together after the step. */
static bool stops_at_once(const Trainer *t)
{
    return comm_size(t->mesh.world) == 1 && stop_requested();
}

/* If a batch cannot be read on one rank, all ranks fail with that rank's error. */
static bool borrow_batches(Trainer *t, GError **error)
{
    StepRecord *step = &t->step;
    bool read = true;
    memset(t->loss.n_targets, 0, sizeof t->loss.n_targets);
    for (int64_t i = 0; read && i < t->batch.accum; i++) {
        int64_t offset = i * t->batch.micro, n = MIN(t->batch.micro, t->batch.own_samples - offset);
        if (stops_at_once(t))
            return fail_stopped(error);
        const Batch *batch = t->batch.micros[i] =
            prefetch_borrow(t->prefetch, t->state.samples + t->batch.own_first + offset, n, error);
        read = batch != NULL;
        if (!read)
            break;
        step->tokens += batch_input_stream(batch)->n_tokens;
        step->room += n * batch_input_stream(batch)->max_len;
        step->target_tokens += batch->n_targets;
        loss_count(&t->loss, model_config(t->model), batch);
    }
    return ranks_sum_counts(t, read, error);
}

/* Shows the progress of a long step on a terminal, at most every SHOW_AFTER_S: samples done, the loss so far (reading
 * it waits for the device), and the time left. */
static void show_step(const Trainer *t, int64_t done, LossSums *sums, double elapsed, double *shown)
{
    g_autofree char *what = NULL;
    if (elapsed < *shown + SHOW_AFTER_S || !isatty(STDERR_FILENO))
        return;
    if (*shown == 0) {
        what = g_strdup_printf("step %" PRId64, t->state.steps + 1);
        progress_open(what, "samples", (uint64_t)t->batch.own_samples);
    }
    *shown = elapsed;
    model_take_sums(t->model, sums);
    progress_note("loss %.4f", loss_sums_total(sums));
    progress_update((uint64_t)MIN(done * t->batch.micro, t->batch.own_samples));
}

static bool scales_loss(const Trainer *t)
{
    return t->config.train.precision == PRECISION_FP16;
}

/* After an update the amaxes of the step become FP8 scales of the next; without one they are forgotten, since amaxes
 * that are not finite would spoil the scale for as long as they are in the history. */
static void scale_fp8(Trainer *t, bool updated)
{
    Fp8Scales *fp8 = model_fp8(t->model);
    if (fp8 && updated)
        fp8_share(fp8, t->mesh.world, t->batch.accum + t->batch.empty);
    else if (fp8)
        fp8_undo(fp8);
}

/* Before the passes of a step: its loss scale, and gradients and FP8 scales that the step can be undone to. */
static void begin_passes(Trainer *t)
{
    t->step.loss_scale = t->loss.loss_scale = scales_loss(t) ? t->state.loss_scale.scale : 1;
    grads_begin(model_params(t->model), t->batch.accum + t->batch.empty);
    if (model_fp8(t->model))
        fp8_keep(model_fp8(t->model));
}

/* Queues the microbatches one after another without waiting for a GPU. `elapsed` is the host's time; on a GPU it agrees
 * with the device's only once the queue (about a thousand launches) is full. After a request to stop, a step of which
 * more than PATIENCE_S is left is abandoned; the resumed run repeats it. */
static bool forward_backward(Trainer *t, GError **error)
{
    const StepBatch *batch = &t->batch;
    const bool piped = comm_size(t->mesh.pipeline) > 1;
    const double start = clock_seconds();
    double shown = 0;
    bool goes_on = true;
    begin_passes(t);
    if (piped)
        fault_point("microbatch");
    if (piped || batch->empty > 0) /* without a pipeline, only the passes by which another rank has more */
        model_passes(t->model, batch->micros, piped ? (int)batch->accum : 0, (int)batch->empty, &t->loss);
    for (int64_t done = 1; !piped && goes_on && done <= batch->accum; done++) {
        pulse_at(t->pulse, t->state.steps + 1, done, "forward and backward");
        fault_point("microbatch");
        profile_begin(t->dev, "microbatch", (int)done - 1);
        model_passes(t->model, &batch->micros[done - 1], 1, 0, &t->loss);
        profile_end(t->dev);
        double elapsed = clock_seconds() - start, left = elapsed / (double)done * (double)(batch->accum - done);
        show_step(t, done, &t->step.sums, elapsed, &shown);
        goes_on = left <= PATIENCE_S || !stops_at_once(t) || fail_stopped(error);
    }
    progress_close();
    if (!goes_on) {
        model_take_sums(t->model, &t->step.sums); /* discards the sums of the abandoned step */
        scale_fp8(t, false);
        return false;
    }
    pipeline_sum_tied(t->model);
    t->step.cost.passes_s += clock_seconds() - start;
    return true;
}

/* Advances the counters; a skipped step consumes its samples too. */
static void count_step(Trainer *t)
{
    TrainState *state = &t->state;
    StepRecord *step = &t->step;
    state->steps++;
    state->tokens += step->tokens;
    state->target_tokens += step->target_tokens;
    state->samples += t->batch.samples;
    state->trained_s = step->trained_s;
    step->samples_read = state->samples - step->samples_end;
    step->samples_end = state->samples;
    state->updates += step->updated;
    state->update_samples += step->updated ? t->batch.samples : 0;
    services_count(t);
}

/* Seconds that all commands of the run have trained, by the clock of rank 0; 0 unless the run counts them. */
static double trained_s(Trainer *t)
{
    if (!config_counts_time(&t->config))
        return 0;
    return t->start.trained_s + (double)ranks_agree(t, (int64_t)(1e6 * (clock_seconds() - t->clock.started))) / 1e6;
}

/* Heads without targets in the step, such as that of sentence pairs in a run without pairs, stay as they are: weight
 * decay alone would shrink them. */
static void rest_heads(Trainer *t)
{
    static const int of_heads[] = { BUCKET_LM_HEAD, BUCKET_POOLER };
    for (size_t i = 0; i < G_N_ELEMENTS(of_heads); i++)
        optimizer_rest(t->optimizer, of_heads[i], !loss_reaches(&t->loss, model_config(t->model), of_heads[i]));
}

/* Runs the optimizer, unless a service forbids it: loss or gradients are not finite, or the step is a loss spike that
 * is skipped, or made again. Losses and gradient norm are read together, in one wait for the device; otherwise a step
 * waits only in show_step and fp8_share. If a rank was lost, fails without an update. */
static bool update(Trainer *t, GError **error)
{
    const double start = clock_seconds();
    StepRecord *step = &t->step;
    pulse_at(t->pulse, t->state.steps + 1, 0, "update");
    profile_begin(t->dev, "update", -1);
    grads_norm_begin(model_params(t->model));
    model_take_sums(t->model, &step->sums);
    if (fault_due("nan"))
        step->sums.head[loss_sums_main(&step->sums)].loss = NAN;
    ranks_sum_losses(t, &step->sums);
    step->norm = grads_norm(model_params(t->model)) / step->loss_scale;
    step->updated = isfinite(step->norm) && loss_sums_finite(&step->sums);
    services_before_update(t, step);
    const bool whole = mesh_check(&t->mesh, error);
    const int64_t update = t->state.updates + 1;
    const ScheduleCounts before = trainer_counts(&t->state),
                         after = { update, before.samples + t->batch.samples, before.tokens + step->tokens,
                                   step->trained_s = trained_s(t) };
    t->schedule.scale = trainer_rate_scale(t);
    step->lr = schedule_lr(&t->schedule, before, after);
    optimizer_set_weight_decay(t->optimizer, schedule_weight_decay(&t->schedule, before));
    if (step->updated && whole && !step->again) {
        t->state.lr = step->lr;
        rest_heads(t);
        step->lr = optimizer_step(t->optimizer, update, step->lr, step->norm, step->loss_scale);
    }
    profile_end(t->dev);
    step->cost.update_s += clock_seconds() - start;
    return whole;
}

/* Adapts the loss scale of fp16. Fails after an overflow that no smaller scale can avoid. */
static bool scale_loss(Trainer *t, GError **error)
{
    const StepRecord *step = &t->step;
    if (!scales_loss(t) || loss_scale_update(&t->state.loss_scale, &t->loss_scale, !step->updated && !step->spike))
        return true;
    if (!loss_sums_finite(&step->sums))
        return fail_user(error,
                         "step %" PRId64 ": the loss is not finite at the smallest loss scale, %g, which changes no "
                         "loss: activations overflow in fp16; go on with train.precision=bf16, or lower optim.lr",
                         t->state.steps, step->loss_scale);
    return fail_user(error,
                     "step %" PRId64 ": gradients overflow at the smallest loss scale, %g; lower optim.lr, or go on "
                     "with train.precision=bf16",
                     t->state.steps, step->loss_scale);
}

static bool read_batches(Trainer *t, GError **error)
{
    const double start = clock_seconds();
    pulse_at(t->pulse, t->state.steps + 1, 0, "data");
    fault_point("step");
    profile_begin(t->dev, "data", -1);
    const bool borrowed = borrow_batches(t, error);
    t->step.cost.data_s += clock_seconds() - start;
    profile_end(t->dev);
    return borrowed;
}

static bool end_step(Trainer *t, GError **error)
{
    scale_fp8(t, t->step.updated && !t->step.again);
    if (t->step.again)
        return true;
    count_step(t);
    return scale_loss(t, error);
}

bool train_step(Trainer *t, GError **error)
{
    const int64_t sent = model_sent_bytes(t->model);
    const double waited = mesh_waited_s(&t->mesh);
    const StepSpent before = t->step.again ? t->step.cost : (StepSpent){ 0 };
    t->step = (StepRecord){ .cost = before, .samples_end = t->step.samples_end };
    const bool made = read_batches(t, error) && forward_backward(t, error) && update(t, error) && end_step(t, error);
    t->step.cost.sent_bytes += model_sent_bytes(t->model) - sent;
    t->step.cost.comm_wait_s += mesh_waited_s(&t->mesh) - waited;
    for (int64_t i = 0; i < t->batch.accum; i++) {
        prefetch_give_back(t->prefetch, t->batch.micros[i]);
        t->batch.micros[i] = NULL;
    }
    return made;
}
