/* spikes.c: loss spikes (train.spike): finds them before the update, when the step has changed nothing yet, logs them
 * with their samples, keeps the checkpoints before and after them, and leaves out their updates if
 * train.spike_action=skip. */
#include "base/log.h"
#include "base/text.h"
#include "train/services/service.h"

#include <inttypes.h>

/* saved: TrainState.steps at which a step was found to be a spike, abandoned for a save, and is to be made again; -1
 * means none. */
typedef struct Spikes {
    int64_t saved;
} Spikes;

static void *spikes_open(const Trainer *t, GError **error)
{
    (void)t, (void)error;
    return g_memdup2(&(Spikes){ .saved = -1 }, sizeof(Spikes));
}

/* The checkpoint after the last spike. */
static unsigned spikes_due(void *own, const Trainer *t, const EveryCounts *counts)
{
    (void)own;
    const int64_t spike = t->state.spike_step;
    return spike > 0 && t->config.train.spike_action != SPIKE_REPORT &&
                   counts->steps == spike + t->config.train.spike_after
               ? DUE_SAVE
               : 0;
}

/* If the checkpoint before a spike is not saved yet, step->again ends the step before anything has changed. */
static void spikes_before_update(void *own, const Trainer *t, StepRecord *step)
{
    const Spikes *spikes = own;
    const int action = t->config.train.spike_action;
    step->loss = loss_sums_total(&step->sums);
    step->before = spike_level(&t->state);
    step->spike = step->updated && spike_is(&t->state, &t->config.train, step->loss);
    step->again = step->spike && action != SPIKE_REPORT && spikes->saved != t->state.steps;
    step->updated = step->updated && !(step->spike && action == SPIKE_SKIP);
}

static void spikes_count(TrainState *state, const Trainer *t)
{
    state->spike_step = t->step.spike ? state->steps : state->spike_step;
    spike_count(state, &t->config.train, t->step.loss);
}

/* Logs a loss spike and its samples. */
static void note_spike(const Trainer *t)
{
    const StepRecord *spike = &t->step;
    const char *dir = t->config.run.dir;
    g_autofree char *run = text_shell_word(dir);
    const int64_t step = t->state.steps + spike->again,
                  first = spike->again ? t->state.samples : t->state.samples - t->batch.samples;
    g_autofree char *what =
        g_strdup_printf("loss %.4f is a spike above the mean %.4f; its samples are %" PRId64 " to %" PRId64
                        "%s (loam inspect batch %s --first %" PRId64 ")",
                        spike->loss, spike->before.mean, first, first + t->batch.samples - 1,
                        t->config.train.spike_action == SPIKE_SKIP ? ", and it is skipped" : "", run, first);
    log_warning("step %" PRId64 "  %s", step, what);
    services_tell(t, &(LogRecord){ METRIC_EVENT, step, .event = { .what = what, .alert = true } });
    if (comm_rank(t->mesh.world) == 0)
        spike_report(dir, spike->before, step, first, t->batch.samples, spike->loss);
}

static Verdict spikes_after_step(void *own, const Trainer *t, GError **error)
{
    (void)error;
    Spikes *spikes = own;
    if (t->step.again || (t->step.spike && t->config.train.spike_action == SPIKE_REPORT))
        note_spike(t);
    if (!t->step.again)
        return VERDICT_GO_ON;
    spikes->saved = t->state.steps;
    return VERDICT_REPEAT;
}

static void spikes_keep(void *own, const Trainer *t, int64_t *steps, int *n)
{
    const Spikes *spikes = own;
    const int64_t spike = t->state.spike_step;
    steps[(*n)++] = spikes->saved;
    if (spike > 0) {
        steps[(*n)++] = spike - 1;
        steps[(*n)++] = spike + t->config.train.spike_after;
    }
}

const Service spikes_service = { .folder = "spikes",
                                 .open = spikes_open,
                                 .due = spikes_due,
                                 .before_update = spikes_before_update,
                                 .count = spikes_count,
                                 .after_step = spikes_after_step,
                                 .keep = spikes_keep };
