/* batch.c: the samples of the next step, and this rank's part of them. */
#include "base/log.h"
#include "train/trainer/state.h"

#include <inttypes.h>

static bool set_batch(Trainer *t, int64_t samples, GError **error)
{
    t->samples = samples;
    t->micro = config_micro_samples(&t->config);
    if (!ranks_divide(t, error))
        return false;
    if (t->prefetch)
        prefetch_set_share(t->prefetch, (PrefetchShare){ t->own_samples, t->samples });
    return true;
}

bool trainer_plan_batch(Trainer *t, GError **error)
{
    const bool count_tokens = !t->state.tokens_by_capacity;
    if (!config_batch_schedule(&t->config, count_tokens, &t->batches, error))
        return false;
    const int64_t next = batch_at(&t->batches, t->state.samples, t->state.tokens);
    /* First checks with the smallest batch of the run that every rank has a sample. */
    return (t->batches.n == 0 || set_batch(t, t->batches.smallest, error)) && set_batch(t, next, error);
}

static void note(Trainer *t, const char *what)
{
    log_info("step %" PRId64 "  %s", t->state.attempts, what);
    metrics_event(t->metrics, t->state.attempts, what);
}

/* If the next step would read samples of a range of train.skip_samples, advances state.samples to the end of that range
 * and returns true. */
static bool skip_range(Trainer *t)
{
    for (int i = 0; i < t->n_skips; i++) {
        const SkipRange range = t->skips[i];
        const int64_t first = t->state.samples, batch = batch_at(&t->batches, first, t->state.tokens);
        if (first >= range.end || first + batch <= range.first)
            continue;
        g_autofree char *what = g_strdup_printf("samples %" PRId64 " to %" PRId64 " are left out (train.skip_samples)",
                                                first, range.end - 1);
        note(t, what);
        t->state.samples = range.end;
        return true;
    }
    return false;
}

bool trainer_next_batch(Trainer *t, GError **error)
{
    while (skip_range(t))
        ;
    const int64_t next = batch_at(&t->batches, t->state.samples, t->state.tokens);
    if (next == t->samples)
        return true;
    g_autofree char *what = g_strdup_printf("the batch is %" PRId64 " samples from here on", next);
    note(t, what);
    return set_batch(t, next, error);
}

int64_t trainer_run_samples(const Trainer *t)
{
    if (t->total_tokens > 0)
        return config_samples(&t->config, t->config.train.length, 0);
    if (t->total_samples > 0)
        return t->total_samples;
    return t->total >= 0 ? batch_samples(&t->batches, t->total) : -1;
}
