/* skipped.c: steps that are skipped because their loss or gradients are not finite: messages, and when the run ends
 * with an error. */
#include "base/log.h"
#include "train/trainer/state.h"

#include <inttypes.h>
#include <math.h>

#define MAX_SKIPPED  100 /* consecutive steps without a finite gradient before the run ends with an error */
#define MAX_STUCK    50  /* consecutive skipped steps at the smallest loss scale before the run ends with an error */
#define MANY_SKIPPED 3   /* this many consecutive skipped steps at the end of a run are too many */

/* "skipped: …", in fp16 with the old and the new loss scale. g_free. */
static char *describe_skipped(const Trainer *t, const StepStats *stats)
{
    static const char text[] = "skipped: loss or gradient is not finite";
    if (t->config.train.precision != PRECISION_FP16)
        return g_strdup(text);
    return g_strdup_printf("%s at loss scale %g; it goes on with %g", text, stats->loss_scale,
                           t->state.loss_scale.scale);
}

bool trainer_fail_stuck(const Trainer *t, GError **error)
{
    bool fixed = t->loss_scale.fixed > 0;
    if (t->stuck_loss)
        return fail_user(error,
                         "the last %" PRId64 " steps had no finite loss, which no loss scale changes: activations "
                         "overflow in fp16, or weights are broken; go on from an earlier checkpoint with "
                         "train.precision=bf16 or f32, or a lower optim.lr",
                         t->stuck);
    return fail_user(error,
                     "the last %" PRId64 " steps overflowed at loss scale %g, %s; lower %s, or go on with "
                     "train.precision=bf16 or f32",
                     t->stuck, t->state.loss_scale.scale, fixed ? "which is fixed" : "the smallest allowed",
                     fixed ? "fp16.loss_scale (0 means that it adapts)" : "fp16.min_scale, fp16.threshold");
}

/* Whether the step was skipped at the smallest loss scale. */
static bool is_stuck(const Trainer *t, const StepStats *stats)
{
    const LossScale *scale = &t->state.loss_scale;
    return t->config.train.precision == PRECISION_FP16 && !stats->updated && scale->scale == stats->loss_scale &&
           loss_scale_is_smallest(scale, &t->loss_scale);
}

int64_t trainer_good_checkpoint(const Trainer *t)
{
    g_autoptr(GArray) steps = run_checkpoints(t->config.run.dir); /* newest first */
    for (guint i = 0; i < steps->len; i++)
        if (g_array_index(steps, int64_t, i) < t->state.attempts - t->state.skipped)
            return g_array_index(steps, int64_t, i);
    return -1;
}

/* "`loam rollback RUN --to STEP` goes back to …". g_free. */
static char *describe_way_back(const Trainer *t)
{
    const int64_t good = trainer_good_checkpoint(t);
    return good >= 0 ? g_strdup_printf("`loam rollback %s --to %" PRId64 "` goes back to the checkpoint before it",
                                       t->config.run.dir, good)
                     : g_strdup("there is no checkpoint from before it to go back to: choose another run.dir");
}

/* All ranks call it together. */
static bool weights_finite(Trainer *t)
{
    Norms norms = norms_measure(t->model, t->ranks, 1);
    const bool finite = isfinite(norms.model.param);
    norms_clear(&norms);
    return finite;
}

/* Fails because the run no longer learns. Says which step was the last good one, and how to go back. why: "" or what
 * else is known, after a comma. */
static bool fail_broken(const Trainer *t, const char *why, GError **error)
{
    const int64_t skipped = t->state.skipped, good = t->state.attempts - skipped;
    g_autofree char *back = describe_way_back(t),
                    *last = good > 0 ? g_strdup_printf("step %" PRId64 " was the last one with", good)
                                     : g_strdup("no step had");
    return fail_user(error,
                     "%s a finite loss and gradient: %" PRId64 " %s skipped%s; %s; then lower optim.lr, lengthen "
                     "optim.warmup, or look at the data (loam inspect batch %s --step %" PRId64 ")",
                     last, skipped, skipped == 1 ? "step since was" : "steps since were", why, back, t->config.run.dir,
                     good + 1);
}

bool trainer_note_skipped(Trainer *t, const StepStats *stats, GError **error)
{
    t->stuck = is_stuck(t, stats) ? t->stuck + 1 : 0;
    t->stuck_loss = !loss_sums_finite(&stats->sums);
    if (stats->updated || stats->spike)
        return true;
    g_autofree char *what = describe_skipped(t, stats);
    log_warning("step %" PRId64 " %s", t->state.attempts, what);
    metrics_event(t->metrics, t->state.attempts, what);
    if (t->stuck >= MAX_STUCK)
        return trainer_fail_stuck(t, error);
    return t->state.skipped < MAX_SKIPPED || fail_broken(t, ", the most that a run skips in a row", error);
}

/* In fp16 steps are also skipped while the loss scale falls: at the end of a run this is a warning. */
static void warn_of_scale(const Trainer *t)
{
    const TrainState *state = &t->state;
    g_autofree char *since =
                        g_strdup_printf("the weights are those of step %" PRId64, state->attempts - state->skipped),
                    *what = g_strdup_printf("the last %" PRId64 " steps of the run updated nothing, and the loss scale "
                                            "was still falling, to %g: %s; a longer train.length goes on from there",
                                            state->skipped, state->loss_scale.scale,
                                            state->updates > 0 ? since : "nothing was learned");
    log_warning("%s", what);
    metrics_event(t->metrics, state->attempts, what);
}

bool trainer_check_skipped(Trainer *t, GError **error)
{
    const TrainState *state = &t->state;
    if (state->skipped == 0)
        return true;
    if (!weights_finite(t))
        return fail_broken(t, ", and the weights are not finite", error);
    if (state->skipped < MANY_SKIPPED && state->updates > 0)
        return true;
    if (t->config.train.precision != PRECISION_FP16 || t->stuck > 0)
        return fail_broken(t, "", error);
    warn_of_scale(t);
    return true;
}
