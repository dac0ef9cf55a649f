/* warmup.c: warns once, at a log line, if a length in time will end before a warm-up in steps, samples or tokens. */
#include "train/services/service.h"

static void *warmup_open(const Trainer *t, G_GNUC_UNUSED GError **error)
{
    const bool may_miss = t->config.train.length.unit == UNIT_SECONDS && t->schedule.warmup.unit != UNIT_SECONDS;
    return may_miss ? g_new0(bool, 1) : NULL;
}

static double warmup_done(const Trainer *t)
{
    const TrainState *state = &t->state;
    const AmountUnit unit = t->schedule.warmup.unit;
    return (double)(unit == UNIT_TOKENS    ? state->tokens
                    : unit == UNIT_SAMPLES ? state->update_samples
                                           : state->updates);
}

static Verdict warmup_after_step(void *own, const Trainer *t, G_GNUC_UNUSED GError **error)
{
    bool *warned = own;
    const double warmup = t->schedule.warmup.value, done = warmup_done(t);
    if (*warned || done >= warmup || (!(t->due & DUE_LOG) && !t->step.last))
        return VERDICT_GO_ON;
    *warned = true;
    const double trained_s = t->state.trained_s, length = t->config.train.length.value;
    if (done / trained_s * length < warmup)
        log_warning("optim.warmup is longer than the run, about %.0f steps at this speed: the learning rate never "
                    "reaches its peak; write a share of the length, such as optim.warmup=6%%",
                    (double)t->state.steps / trained_s * length);
    return VERDICT_GO_ON;
}

const Service warmup_service = { .open = warmup_open, .after_step = warmup_after_step };
