/* batch.c: the samples of the next step, and this rank's part of them. */
#include "base/log.h"
#include "train/trainer/state.h"

#include <inttypes.h>

static void set_batch(Trainer *t, int64_t samples)
{
    t->samples = samples;
    t->micro = config_micro_samples(&t->config);
    ranks_divide(t);
    if (t->prefetch)
        prefetch_set_share(t->prefetch, (PrefetchShare){ t->own_samples, t->samples });
}

bool trainer_plan_batch(Trainer *t, GError **error)
{
    const bool count_tokens = !t->state.tokens_by_capacity;
    if (!config_batch_schedule(&t->config, count_tokens, &t->batches, error))
        return false;
    if (!batch_check_ranks(&t->batches, t->state.samples, t->state.tokens, comm_size(t->mesh.data), error))
        return false;
    set_batch(t, batch_at(&t->batches, t->state.samples, t->state.tokens));
    return true;
}

static void note(Trainer *t, const char *what)
{
    log_info("step %" PRId64 "  %s", t->state.attempts, what);
    metrics_event(t->metrics, t->state.attempts, what);
}

/* The end of a range of train.skip_samples of which a step from sample `first` on would read samples; `first` if there
 * is none. */
static int64_t skip_range(const Trainer *t, int64_t first)
{
    const int64_t batch = batch_at(&t->batches, first, t->state.tokens);
    for (int i = 0; i < t->n_skips; i++)
        if (first < t->skips[i].end && first + batch > t->skips[i].first)
            return t->skips[i].end;
    return first;
}

int64_t trainer_next_sample(const Trainer *t)
{
    int64_t first = t->state.samples;
    for (int64_t end; (end = skip_range(t, first)) > first;)
        first = end;
    return first;
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
    const int64_t next = batch_at(&t->batches, t->state.samples, t->state.tokens);
    if (next == t->samples)
        return;
    g_autofree char *what = g_strdup_printf("the batch is %" PRId64 " samples from here on", next);
    note(t, what);
    set_batch(t, next);
}

int64_t trainer_run_samples(const Trainer *t)
{
    if (t->total_tokens > 0)
        return config_samples(&t->config, t->config.train.length, 0);
    if (t->total_samples > 0)
        return t->total_samples;
    return t->total >= 0 ? batch_samples(&t->batches, t->total) : -1;
}
