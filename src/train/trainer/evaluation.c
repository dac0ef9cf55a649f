/* evaluation.c: evaluates held-out data and remembers the best checkpoint. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "train/trainer/state.h"
#include "train/trainer/stop.h"

#include <inttypes.h>
#include <math.h>

void trainer_plan_best(Trainer *t)
{
    const TrainState *state = &t->state;
    if (t->valid->len == 0)
        return;
    Loader *first = ((const HeldoutSet *)t->valid->pdata[0])->loader;
    int64_t all = loader_epoch_samples(first), n = t->config.train.eval_samples;
    t->best_data = loader_fingerprint(first) ^ (n > 0 ? MIN(n, all) : all);
    if (state->best_step >= 0 && state->best_data != t->best_data)
        log_info("the best loss so far (step %" PRId64
                 ") is of other held-out samples: the next evaluation begins anew",
                 state->best_step);
}

bool trainer_evaluation_due(const Trainer *t, bool end)
{
    const TrainState *state = &t->state;
    return t->valid->len > 0 && state->evaluated != state->attempts &&
           (end || state->attempts == 0 || state->evaluation_left || trainer_due(t, &t->eval_every));
}

typedef struct SetResult {
    LossSums sums;
    double seconds;
} SetResult;

static void report_set(const Trainer *t, const HeldoutSet *set, const SetResult *result)
{
    if (loss_sums_heads(&result->sums) > 0)
        metrics_valid(t->metrics, t->state.attempts, set->name, &result->sums, result->seconds);
    else
        log_warning("step %" PRId64 "  the held-out samples of %s have no target token: there is no loss to report",
                    t->state.attempts, set->path_prefix);
}

/* Evaluates every set before reporting any, so that an abandoned evaluation leaves no line. */
static bool evaluate_sets(Trainer *t, SetResult *results, GError **error)
{
    for (guint i = 0; i < t->valid->len; i++) {
        const HeldoutSet *set = t->valid->pdata[i];
        double start = clock_seconds();
        if (!heldout_loss(t->model, set->loader, t->config.train.eval_samples, t->micro, stop_requested,
                          &results[i].sums, error))
            return false;
        results[i].seconds = clock_seconds() - start;
    }
    for (guint i = 0; i < t->valid->len; i++)
        report_set(t, t->valid->pdata[i], &results[i]);
    return true;
}

/* Records the held-out loss (of all heads) if it is the lowest so far on the same samples. Step 0 does not count:
 * there is no checkpoint of it. */
static bool note_best(Trainer *t, const LossSums *sums)
{
    TrainState *state = &t->state;
    double mean = loss_sums_total(sums);
    bool compares = state->best_step >= 0 && state->best_data == t->best_data;
    if (state->attempts == 0 || !isfinite(mean) || (compares && mean >= state->best_loss))
        return false;
    state->best_loss = mean;
    state->best_step = state->attempts;
    state->best_data = t->best_data;
    return true;
}

bool trainer_evaluate(Trainer *t, bool *best, GError **error)
{
    double start = clock_seconds();
    g_autofree SetResult *results = g_new0(SetResult, t->valid->len);
    fault_point("evaluation");
    if (!evaluate_sets(t, results, error))
        return false;
    t->state.evaluated = t->state.attempts;
    t->state.evaluation_left = 0;
    *best = note_best(t, &results[0].sums);
    t->window_started += clock_seconds() - start; /* the reported training speed excludes evaluations */
    t->started += clock_seconds() - start;
    every_done(&t->eval_every);
    return true;
}
