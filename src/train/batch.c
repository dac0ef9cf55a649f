/* batch.c: the samples of the next step, and this rank's part of them. */
#include "train/trainer.h"

static void set_batch(Trainer *t, int64_t samples)
{
    t->batch.samples = samples;
    t->batch.micro = config_micro_samples(&t->config);
    ranks_divide(t);
    if (t->prefetch)
        prefetch_set_share(t->prefetch, (PrefetchShare){ t->batch.own_samples, t->batch.samples });
}

bool trainer_plan_batch(Trainer *t, GError **error)
{
    if (!config_batch_schedule(&t->config, !t->state.tokens_by_capacity, &t->plan.sizes, error))
        return false;
    config_skip_ranges(&t->config, t->plan.skips, &t->plan.n_skips, NULL);
    if (!batch_check_ranks(&t->plan.sizes, t->state.samples, t->state.tokens, comm_size(t->mesh.data), error))
        return false;
    set_batch(t, batch_at(&t->plan.sizes, t->state.samples, t->state.tokens));
    return true;
}

static void note(Trainer *t, const char *what)
{
    log_info("step %" PRId64 "  %s", t->state.steps, what);
    services_event(t, what);
}

static int64_t skip_range(const Trainer *t, int64_t first)
{
    return config_skip_range(t->plan.skips, t->plan.n_skips, &t->plan.sizes, first, t->state.tokens);
}

/* The first sample of a step that would begin with `first`. */
static int64_t after_skips(const Trainer *t, int64_t first)
{
    for (int64_t end; (end = skip_range(t, first)) > first;)
        first = end;
    return first;
}

int64_t trainer_next_sample(const Trainer *t)
{
    return after_skips(t, t->state.samples);
}

int64_t trainer_steps_to(const Trainer *t, int64_t end, int64_t *samples)
{
    const BatchSchedule *sizes = &t->plan.sizes;
    int64_t steps = 0, first = trainer_next_sample(t);
    *samples = 0;
    while (first < end) {
        int64_t limit = end; /* up to here no sample is left out */
        for (int i = 0; i < t->plan.n_skips; i++)
            if (t->plan.skips[i].first >= first)
                limit = MIN(limit, t->plan.skips[i].first);
        const int64_t whole = batch_steps(sizes, first, limit, true), read = batch_samples(sizes, first, whole);
        *samples += whole > 0 ? read - first : end - first;
        if (whole == 0) /* only the last step reads beyond `limit`, which is the end then */
            return steps + 1;
        steps += whole;
        first = after_skips(t, read);
    }
    return steps;
}

static void skip_samples(Trainer *t)
{
    TrainState *state = &t->state;
    for (int64_t end; (end = skip_range(t, state->samples)) > state->samples;) {
        g_autofree char *what = g_strdup_printf("samples %" PRId64 " to %" PRId64 " are left out (train.skip_samples)",
                                                state->samples, end - 1);
        note(t, what);
        state->skipped_samples += end - state->samples;
        state->samples = end;
    }
}

void trainer_next_batch(Trainer *t)
{
    skip_samples(t);
    const int64_t next = batch_at(&t->plan.sizes, t->state.samples, t->state.tokens);
    if (next == t->batch.samples)
        return;
    g_autofree char *what = g_strdup_printf("the batch is %" PRId64 " samples from here on", next);
    note(t, what);
    set_batch(t, next);
}

int64_t trainer_run_samples(const Trainer *t)
{
    if (t->length.tokens > 0)
        return (int64_t)((double)config_samples(&t->config, t->config.train.length, 0) / loader_input_fill(t->train));
    if (t->length.samples > 0)
        return t->length.samples;
    /* from here on, as the batch may have been another one before */
    return t->length.steps >= 0
               ? batch_samples(&t->plan.sizes, t->start.samples, MAX(t->length.steps - t->start.steps, 0))
               : -1;
}
