/* length.c: where the run ends, and the learning-rate schedule, which ends with it. */
#include "train/trainer.h"

/* Sets the end of the run in steps, samples or tokens. A length in samples counts all samples since the run's first
 * step, whatever the batch size was. A length in tokens counts the tokens read, except in runs of earlier versions,
 * which counted every sample as data.input_length tokens (tokens_by_capacity). */
static void plan_length(Trainer *t, bool count_tokens)
{
    const Config *config = &t->config;
    const Amount length = config->train.length;
    const int64_t epoch = loader_epoch_packed(t->train), samples = config_samples(config, length, epoch);
    t->length.steps = config_length_steps(config, epoch);
    if (count_tokens && config_tokens(config, length) > 0) {
        t->length.steps = -1;
        t->length.tokens = length.value;
    } else if (samples >= 0 && (t->plan.sizes.in_tokens || *config->train.skip_samples)) {
        int64_t left = 0;
        t->length.samples = samples;
        t->length.steps = t->plan.sizes.in_tokens ? -1 : t->state.steps + trainer_steps_to(t, samples, &left);
        t->length.left_out = t->plan.sizes.in_tokens ? 0 : samples - left - t->state.samples + t->state.skipped_samples;
    } else if (samples >= 0) {
        t->length.steps =
            t->state.steps + batch_steps(&t->plan.sizes, t->state.samples, samples, config_drops_rest(config));
    }
}

/* Whether the run has read its samples in batches of other sizes than this configuration's, so that samples say how far
 * it is and steps do not. */
static bool has_changed_batch(const Trainer *t)
{
    const TrainState *state = &t->state;
    return batch_samples(&t->plan.sizes, 0, state->steps) != state->samples - state->skipped_samples;
}

/* Sets the learning-rate schedule. Percentages of the length, such as optim.warmup=6%, refer to the number of steps
 * from the run's first step to its end. */
static void plan_schedule(Trainer *t, bool count_tokens)
{
    const OptimConfig *optim = &t->config.optim;
    Schedule *schedule = &t->schedule;
    const struct {
        RunSpan *span;
        Amount amount;
    } shares[] = { { &schedule->warmup, optim->warmup },
                   { &schedule->total, optim->decay_until },
                   { &schedule->decay, optim->decay_length },
                   { &schedule->cycle, optim->cycle } };
    *schedule = config_schedule(&t->config, loader_epoch_packed(t->train), count_tokens);
    const bool changed = has_changed_batch(t);
    for (size_t i = 0; i < G_N_ELEMENTS(shares); i++) {
        const int64_t samples = config_samples(&t->config, shares[i].amount, loader_epoch_packed(t->train));
        /* a decay before an end in steps is all to come, in batches of this configuration */
        const bool to_come = shares[i].span == &schedule->decay && schedule->total.unit == UNIT_STEPS;
        if (changed && samples > 0 && shares[i].span->unit == UNIT_STEPS && !to_come)
            *shares[i].span = (RunSpan){ (double)samples, UNIT_SAMPLES };
    }
    for (size_t i = 0; i < G_N_ELEMENTS(shares); i++)
        if (t->length.steps >= 0 && shares[i].amount.unit == UNIT_PERCENT && shares[i].span->unit == UNIT_STEPS)
            shares[i].span->value = (double)config_share(shares[i].amount, t->length.steps);
    RunSpan *const ends[] = { optim->decay_until.value == 0 ? &schedule->total : NULL, &schedule->ramp_end };
    for (size_t i = 0; i < G_N_ELEMENTS(ends); i++)
        if (ends[i] && ends[i]->unit == UNIT_STEPS && t->length.steps >= 0)
            ends[i]->value = (double)t->length.steps;
        else if (ends[i] && ends[i]->unit == UNIT_SAMPLES)
            ends[i]->value -= (double)t->length.left_out;
    /* a last decay in steps is made of steps as large as those at the end */
    if (schedule->total.unit == UNIT_SAMPLES && schedule->decay.unit == UNIT_STEPS) {
        const int64_t last = batch_after(&t->plan.sizes, (int64_t)schedule->total.value - 1);
        schedule->decay = (RunSpan){ schedule->decay.value * (double)last, UNIT_SAMPLES };
    }
    schedule->scale = trainer_rate_scale(t);
}

/* train.stop_at counts samples as train.length does, whatever the batch size was. */
static RunSpan plan_stop(const Trainer *t, bool count_tokens)
{
    const Amount stop = t->config.train.stop_at;
    const int64_t epoch = loader_epoch_packed(t->train), samples = config_samples(&t->config, stop, epoch);
    const RunSpan span = config_span(&t->config, stop, epoch, count_tokens);
    return samples > 0 && span.unit == UNIT_STEPS ? (RunSpan){ (double)samples, UNIT_SAMPLES } : span;
}

bool trainer_plan_steps(Trainer *t, GError **error)
{
    const TrainState *state = &t->state;
    const bool count_tokens = trainer_counts_tokens(t);
    if (!trainer_plan_batch(t, error))
        return false;
    t->start.steps = state->steps;
    t->start.samples = t->step.samples_end = state->samples;
    t->start.tokens = state->tokens;
    t->start.trained_s = state->trained_s;
    plan_length(t, count_tokens);
    plan_schedule(t, count_tokens);
    t->length.stop_at = plan_stop(t, count_tokens);
    t->start.finished = trainer_finished(t) && !trainer_evaluation_due(t, true);
    t->clock.started = clock_seconds();
    return true;
}
