/* progress.c: which periodic actions are due after a step, whether the run is at its end, and how long it will take. */
#include "base/clock.h"
#include "train/trainer/state.h"
#include "train/trainer/stop.h"

#include <math.h>

bool trainer_out_of_patience(const Trainer *t)
{
    return t->config.train.patience > 0 && t->state.stale >= t->config.train.patience;
}

ScheduleCounts trainer_counts(const TrainState *state)
{
    return (ScheduleCounts){ state->updates, state->update_samples, state->tokens, state->trained_s };
}

static EveryCounts counts_of(const Trainer *t)
{
    const TrainState *state = &t->state;
    return (EveryCounts){ state->attempts, state->samples, state->tokens, t->step_samples, t->step_tokens };
}

bool trainer_stops_here(const Trainer *t)
{
    const EveryCounts counts = counts_of(t);
    return span_reached(t->stop_at, &counts);
}

bool trainer_finished(const Trainer *t)
{
    if (trainer_out_of_patience(t) || trainer_stops_here(t))
        return true;
    if (t->total_tokens > 0)
        return (double)t->state.tokens >= t->total_tokens;
    if (t->total_samples > 0)
        return trainer_next_sample(t) >= t->total_samples;
    if (t->total >= 0)
        return t->state.attempts >= t->total;
    return t->seen & SEEN_TIME_UP;
}

static unsigned if_due(const Trainer *t, const Every *every, unsigned seen)
{
    const EveryCounts counts = counts_of(t);
    return every_due(every, &counts) ? seen : 0;
}

void trainer_look(Trainer *t)
{
    unsigned stop = comm_max(t->ranks, stop_requested()) ? SEEN_STOP : 0;
    const EveryCounts counts = counts_of(t);
    unsigned seen = if_due(t, &t->log_every, SEEN_LOG) | if_due(t, &t->eval_every, SEEN_EVAL) |
                    if_due(t, phases_at(&t->save_every, &counts), SEEN_SAVE) | if_due(t, &t->save_within, SEEN_SAVE);
    if (t->config.train.length.unit == UNIT_SECONDS && clock_seconds() - t->started >= t->config.train.length.value)
        seen |= SEEN_TIME_UP;
    if (t->state.spike_step > 0 && t->config.train.spike_action != SPIKE_REPORT &&
        t->state.attempts == t->state.spike_step + t->config.train.spike_after)
        seen |= SEEN_SAVE;
    if (seen && t->lock >= 0 && !run_check_here(t->config.run.dir, &t->folder, &t->lock, NULL))
        seen |= SEEN_MOVED;
    const StopRule rule = stop_rules_look(&t->stops, &counts);
    seen |= rule != STOP_NONE ? SEEN_STOP | SEEN_RULE * (unsigned)rule : 0;
    t->seen = (unsigned)ranks_agree(t, seen) | stop;
}

bool trainer_evaluation_due(const Trainer *t, bool end)
{
    const TrainState *state = &t->state;
    return t->valid->len > 0 && state->evaluated != state->attempts &&
           (end || state->attempts == 0 || state->evaluation_left || t->seen & SEEN_EVAL);
}

double trainer_seconds_left(const Trainer *t)
{
    const TrainState *state = &t->state;
    double elapsed = clock_seconds() - t->started;
    if (t->total_tokens > 0)
        return elapsed / (double)(state->tokens - t->first_tokens) * MAX(t->total_tokens - (double)state->tokens, 0);
    const int64_t run = trainer_run_samples(t);
    if (run > 0 && batch_varies(&t->batches))
        return elapsed / (double)(state->samples - t->first_samples) * (double)MAX(run - state->samples, 0);
    return t->total > 0 ? elapsed / (double)(state->attempts - t->first_step) * (double)(t->total - state->attempts)
                        : -1;
}

int64_t trainer_about_steps(const Trainer *t)
{
    const TrainState *state = &t->state;
    double all = (double)t->total;
    if (t->total_tokens > 0)
        all = (double)state->attempts * t->total_tokens / (double)MAX(state->tokens, 1);
    else if (t->total_samples > 0)
        all = (double)state->attempts * (double)t->total_samples / (double)MAX(state->samples, 1);
    return MAX(state->attempts, (int64_t)ceil(all));
}

void trainer_scale_rate(Trainer *t)
{
    t->schedule.scale = pow(t->config.optim.plateau_factor, (double)t->state.drops);
}
