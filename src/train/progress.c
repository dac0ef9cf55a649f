/* progress.c: how far the run is, whether it is at its end, and how long it will take. */
#include "train/trainer.h"

bool trainer_out_of_patience(const Trainer *t)
{
    return t->config.train.patience > 0 && t->state.stale >= t->config.train.patience;
}

bool trainer_has_changed(const Trainer *t, const char *option)
{
    g_autofree char *start = g_strconcat(option, " changed from ", NULL);
    bool changed = false;
    for (guint i = 0; i < t->changes->len; i++)
        changed |= g_str_has_prefix(t->changes->pdata[i], start);
    return changed;
}

ScheduleCounts trainer_counts(const TrainState *state)
{
    return (ScheduleCounts){ state->updates, state->update_samples, state->tokens, state->trained_s };
}

EveryCounts trainer_every_counts(const Trainer *t)
{
    const TrainState *state = &t->state;
    return (EveryCounts){ state->steps, state->samples, state->tokens, t->step.samples_read, t->step.tokens };
}

bool trainer_counts_tokens(const Trainer *t)
{
    return !t->state.tokens_by_capacity;
}

Every trainer_every(const Trainer *t, Amount amount)
{
    return every_of(&t->config, amount, loader_epoch_packed(t->train), trainer_counts_tokens(t));
}

bool trainer_stops_here(const Trainer *t)
{
    const EveryCounts counts = trainer_every_counts(t);
    return span_reached(t->length.stop_at, &counts);
}

bool trainer_finished(const Trainer *t)
{
    if (trainer_out_of_patience(t) || trainer_stops_here(t))
        return true;
    if (t->length.tokens > 0)
        return (double)t->state.tokens >= t->length.tokens;
    if (t->length.samples > 0)
        return trainer_next_sample(t) >= t->length.samples;
    if (t->length.steps >= 0)
        return t->state.steps >= t->length.steps;
    return t->state.trained_s >= t->config.train.length.value;
}

bool trainer_had_ended(const Trainer *t)
{
    return t->start.resumed && t->start.finished;
}

bool trainer_evaluation_due(const Trainer *t, bool end)
{
    const TrainState *state = &t->state;
    return t->valid->len > 0 && state->evaluated != state->steps &&
           (end || state->steps == 0 || state->evaluation_left || t->due & DUE_EVAL);
}

/* Seconds until a count of the run is at `end`, by the speed of this process; -1 means that there is no such end. */
static double seconds_until(const Trainer *t, RunSpan end)
{
    const TrainState *now = &t->state;
    const ProcessStart *start = &t->start;
    const struct {
        double first, now;
    } counts[] = { [UNIT_STEPS] = { (double)start->steps, (double)now->steps },
                   [UNIT_SAMPLES] = { (double)start->samples, (double)now->samples },
                   [UNIT_TOKENS] = { (double)start->tokens, (double)now->tokens },
                   [UNIT_SECONDS] = { start->trained_s, now->trained_s } },
      count = counts[end.unit];
    if (end.value <= 0 || count.now <= count.first)
        return -1;
    return (clock_seconds() - t->clock.started) / (count.now - count.first) * fmax(end.value - count.now, 0);
}

/* The end that train.length sets. */
static RunSpan length_end(const Trainer *t)
{
    const int64_t samples = trainer_run_samples(t);
    if (t->length.tokens > 0)
        return (RunSpan){ t->length.tokens, UNIT_TOKENS };
    if (samples > 0 && (t->length.steps < 0 || batch_varies(&t->plan.sizes)))
        return (RunSpan){ (double)samples, UNIT_SAMPLES };
    if (t->length.steps < 0)
        return (RunSpan){ t->config.train.length.value, UNIT_SECONDS };
    return (RunSpan){ (double)t->length.steps, UNIT_STEPS };
}

double trainer_seconds_left(const Trainer *t)
{
    const double end = seconds_until(t, length_end(t)), stop = seconds_until(t, t->length.stop_at);
    return stop < 0 ? end : end < 0 ? stop : fmin(end, stop);
}

int64_t trainer_about_steps(const Trainer *t)
{
    const TrainState *state = &t->state;
    double all = (double)t->length.steps;
    if (t->length.tokens > 0)
        all = (double)state->steps * t->length.tokens / (double)MAX(state->tokens, 1);
    else if (t->length.samples > 0 && t->length.steps < 0)
        all = (double)state->steps * (double)t->length.samples / (double)MAX(state->samples, 1);
    return MAX(state->steps, (int64_t)ceil(all));
}

double trainer_rate_scale(const Trainer *t)
{
    return pow(t->config.optim.plateau_factor, (double)t->state.drops);
}

double trainer_sample_flops(const Trainer *t)
{
    const Config *config = &t->config;
    const int64_t micro = t->plan.micro_most;
    const double share = objective_target_share(data_objective_row(&config->data), loader_objective(t->train));
    return loader_fill(t->train) / loader_input_fill(t->train) *
           model_step_flops(&config->model, (int32_t)micro, loader_enc_length(t->train), loader_dec_length(t->train),
                            share) /
           (double)micro;
}
