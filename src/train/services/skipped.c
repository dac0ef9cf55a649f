/* skipped.c: steps without update, whose loss or gradients are not finite: messages, and when the run fails. */
#include "base/text.h"
#include "train/services/service.h"

#define MAX_SKIPPED  100 /* consecutive steps without a finite gradient before the run ends with an error */
#define MAX_STUCK    50  /* consecutive skipped steps at the smallest loss scale before the run ends with an error */
#define MANY_SKIPPED 3   /* this many consecutive skipped steps at the end of a run are too many */

/* Consecutive skipped steps at the smallest loss scale, and whether the loss of the last step was not finite. */
typedef struct Skipped {
    int64_t stuck;
    bool stuck_loss;
} Skipped;

static void *skipped_open(G_GNUC_UNUSED const Trainer *t, G_GNUC_UNUSED GError **error)
{
    return g_new0(Skipped, 1);
}

static void skipped_count(TrainState *state, const Trainer *t)
{
    state->skipped = t->step.updated || t->step.spike ? 0 : state->skipped + 1;
}

/* "skipped: …", in fp16 with the old and the new loss scale. g_free. */
static char *describe_skipped(const Trainer *t)
{
    static const char text[] = "skipped: loss or gradient is not finite";
    if (t->config.train.precision != PRECISION_FP16)
        return g_strdup(text);
    return g_strdup_printf("%s at loss scale %g; it goes on with %g", text, t->step.loss_scale,
                           t->state.loss_scale.scale);
}

/* Fails because every step overflows at the smallest or a fixed loss scale, so that nothing would ever be learned. */
static bool fail_stuck(const Skipped *own, const Trainer *t, GError **error)
{
    bool fixed = t->loss_scale.fixed > 0;
    if (own->stuck_loss)
        return fail_user(error,
                         "the last %" PRId64 " steps had no finite loss, which no loss scale changes: activations "
                         "overflow in fp16, or weights are broken; go on from an earlier checkpoint with "
                         "train.precision=bf16 or f32, or a lower optim.lr",
                         own->stuck);
    return fail_user(error,
                     "the last %" PRId64 " steps overflowed at loss scale %g, %s; lower %s, or go on with "
                     "train.precision=bf16 or f32",
                     own->stuck, t->state.loss_scale.scale, fixed ? "which is fixed" : "the smallest allowed",
                     fixed ? "fp16.loss_scale (0 means that it adapts)" : "fp16.min_scale, fp16.threshold");
}

/* Whether the step was skipped at the smallest loss scale. */
static bool is_stuck(const Trainer *t)
{
    const LossScale *scale = &t->state.loss_scale;
    return t->config.train.precision == PRECISION_FP16 && !t->step.updated && scale->scale == t->step.loss_scale &&
           loss_scale_is_smallest(scale, &t->loss_scale);
}

/* The newest checkpoint before the last step with a finite loss, whose weights are therefore finite; -1 means none. */
static int64_t good_checkpoint(const Trainer *t)
{
    g_autoptr(GArray) steps = run_checkpoints(t->config.run.dir); /* newest first */
    for (guint i = 0; i < steps->len; i++)
        if (g_array_index(steps, int64_t, i) < t->state.steps - t->state.skipped)
            return g_array_index(steps, int64_t, i);
    return -1;
}

/* "`loam rollback RUN --to STEP` goes back to …". g_free. */
static char *describe_way_back(const Trainer *t)
{
    const int64_t good = good_checkpoint(t);
    g_autofree char *run = text_shell_word(t->config.run.dir);
    return good >= 0
               ? g_strdup_printf("`loam rollback %s --to %" PRId64 "` goes back to the checkpoint before it", run, good)
               : g_strdup("there is no checkpoint from before it to go back to: choose another run.dir");
}

/* All ranks call it together. */
static bool weights_finite(const Trainer *t)
{
    g_auto(Norms) norms = norms_measure(t->model, t->mesh.world, 1);
    return isfinite(norms.model.param);
}

/* Fails: the run no longer learns. Says the last good step and how to go back. why: "" or ", " and a reason. */
static bool fail_broken(const Trainer *t, const char *why, GError **error)
{
    const int64_t skipped = t->state.skipped, good = t->state.steps - skipped;
    g_autofree char *back = describe_way_back(t), *run = text_shell_word(t->config.run.dir),
                    *last = good > 0 ? g_strdup_printf("step %" PRId64 " was the last one with", good)
                                     : g_strdup("no step had");
    return fail_user(error,
                     "%s a finite loss and gradient: %" PRId64 " %s skipped%s; %s; then lower optim.lr, lengthen "
                     "optim.warmup, or look at the data (loam inspect batch %s --step %" PRId64 ")",
                     last, skipped, skipped == 1 ? "step since was" : "steps since were", why, back, run, good + 1);
}

static Verdict skipped_after_step(void *service, const Trainer *t, GError **error)
{
    Skipped *own = service;
    own->stuck = is_stuck(t) ? own->stuck + 1 : 0;
    own->stuck_loss = !loss_sums_finite(&t->step.sums);
    if (t->step.updated || t->step.spike)
        return VERDICT_GO_ON;
    g_autofree char *what = describe_skipped(t);
    log_warning("step %" PRId64 " %s", t->state.steps, what);
    services_event(t, what);
    if (own->stuck >= MAX_STUCK)
        fail_stuck(own, t, error);
    else if (t->state.skipped >= MAX_SKIPPED)
        fail_broken(t, ", the most that a run skips in a row", error);
    else
        return VERDICT_GO_ON;
    return VERDICT_FAIL;
}

/* While steps are skipped, the last checkpoint whose weights are known to be finite. */
static void skipped_keep(G_GNUC_UNUSED void *own, const Trainer *t, KeptSteps *kept)
{
    if (t->state.skipped > 0)
        service_keep(kept, good_checkpoint(t));
}

/* In fp16 steps are also skipped while the loss scale falls: at the end of a run this is a warning. */
static void warn_of_scale(const Trainer *t)
{
    const TrainState *state = &t->state;
    g_autofree char *since = g_strdup_printf("the weights are those of step %" PRId64, state->steps - state->skipped),
                    *what = g_strdup_printf("the last %" PRId64 " steps of the run updated nothing, and the loss scale "
                                            "was still falling, to %g: %s; a longer train.length goes on from there",
                                            state->skipped, state->loss_scale.scale,
                                            state->updates > 0 ? since : "nothing was learned");
    log_warning("%s", what);
    services_event(t, what);
}

/* If the last steps were skipped: why the run failed, "" or what else is known after a comma; NULL means it has not. */
static const char *failure_of(const Skipped *own, const Trainer *t)
{
    const TrainState *state = &t->state;
    if (!weights_finite(t))
        return ", and the weights are not finite";
    if (state->skipped < MANY_SKIPPED && state->updates > 0)
        return NULL;
    if (t->config.train.precision != PRECISION_FP16 || own->stuck > 0)
        return "";
    warn_of_scale(t);
    return NULL;
}

static Verdict skipped_at_end(void *service, const Trainer *t, GError **error)
{
    const Skipped *own = service;
    if (own->stuck > 0 && t->state.updates == 0)
        return fail_stuck(own, t, error) ? VERDICT_GO_ON : VERDICT_FAIL;
    const char *why = t->state.skipped > 0 ? failure_of(own, t) : NULL;
    return why == NULL || fail_broken(t, why, error) ? VERDICT_GO_ON : VERDICT_ABORT;
}

const Service skipped_service = { .open = skipped_open,
                                  .count = skipped_count,
                                  .after_step = skipped_after_step,
                                  .keep = skipped_keep,
                                  .at_end = skipped_at_end };
