/* evaluation.c: evaluates held-out data and tasks, and keeps track of the best checkpoint. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "train/result.h"
#include "train/trainer/state.h"
#include "train/trainer/stop.h"

#include <inttypes.h>
#include <math.h>

void trainer_plan_best(Trainer *t)
{
    const TrainState *state = &t->state;
    bool scored = t->best == NULL || t->scored->len > 0; /* in a run that has ended, the scores are not opened */
    if (t->valid->len == 0 || !scored)
        return;
    Loader *first = ((const HeldoutSet *)t->valid->pdata[0])->loader;
    int64_t all = loader_epoch_samples(first), n = t->config.train.eval_samples;
    t->best_data = loader_fingerprint(first) ^ (n > 0 ? MIN(n, all) : all);
    if (t->best)
        t->best_data ^= (int64_t)(trainer_scores_hash(t) + g_str_hash(t->best));
    if (state->best_step >= 0 && state->best_data != t->best_data)
        log_info("the best %s so far (step %" PRId64
                 ") was computed on other held-out samples%s: the next evaluation replaces it",
                 t->best ? t->best : "loss", state->best_step, t->best ? ", or by another train.best" : "");
}

typedef struct SetResult {
    LossSums sums;
    double seconds;
} SetResult;

/* The lowest loss so far of the set that decides about the best checkpoint, with this one; NaN for other sets, and if
 * a score decides. */
static double lowest_loss(const Trainer *t, guint i, double loss)
{
    const TrainState *state = &t->state;
    if (i > 0 || t->best)
        return NAN;
    return state->best_step >= 0 && state->best_data == t->best_data ? fmin(state->best_value, loss) : loss;
}

/* The bytes of the targets' text of a held-out set, counted once, by the rank that logs; -1 if they are not known. */
static int64_t text_bytes_of(const Trainer *t, HeldoutSet *set, const LossSums *sums)
{
    g_autoptr(GError) ignored = NULL;
    const bool wanted = t->metrics && t->tok && loss_sums_main(sums) == HEAD_TOKENS;
    if (wanted && set->bytes == 0 &&
        !heldout_bytes(set->loader, t->tok, t->config.train.eval_samples, &set->bytes, &ignored))
        set->bytes = -1;
    return wanted ? set->bytes : -1;
}

static void report_set(const Trainer *t, guint i, const SetResult *result)
{
    HeldoutSet *set = t->valid->pdata[i];
    const int64_t n = t->config.train.eval_samples, all = loader_epoch_samples(set->loader);
    const ValidRecord record = { .step = t->state.attempts,
                                 .name = set->name,
                                 .index = (int)i,
                                 .sums = &result->sums,
                                 .seconds = result->seconds,
                                 .bits_per_byte =
                                     heldout_bits_per_byte(&result->sums, text_bytes_of(t, set, &result->sums)),
                                 .samples = n > 0 ? MIN(n, all) : all,
                                 .batches = ((n > 0 ? MIN(n, all) : all) + t->micro_most - 1) / t->micro_most,
                                 .train_samples = t->state.samples,
                                 .updates = t->state.updates,
                                 .epochs = (double)t->state.samples / (double)loader_epoch_samples(t->train),
                                 .best = lowest_loss(t, i, loss_sums_total(&result->sums)) };
    if (loss_sums_heads(&result->sums) > 0)
        metrics_valid(t->metrics, &record);
    else
        log_warning("step %" PRId64 "  the held-out samples of %s have no target token: there is no loss to report",
                    t->state.attempts, set->path_prefix);
}

static bool evaluate_sets(Trainer *t, SetResult *results, GError **error)
{
    for (guint i = 0; i < t->valid->len; i++) {
        const HeldoutSet *set = t->valid->pdata[i];
        double start = clock_seconds();
        const HeldoutPart part = { comm_rank(t->mesh.data), comm_size(t->mesh.data) };
        const bool good = heldout_loss(t->model, set->loader, t->config.train.eval_samples, t->micro_most, part,
                                       comm_size(t->ranks) > 1 ? NULL : stop_requested, &results[i].sums, error);
        if (!ranks_agree_on_passes(t, good, !good, error))
            return false;
        ranks_sum_losses(t, &results[i].sums);
        results[i].seconds = clock_seconds() - start;
    }
    return true;
}

/* Whether this is step 0 of a model that has not been trained on this objective: its weights are random, or the run
 * will train it on a task. Its metric is not recorded as the best one, and no checkpoint of it is saved. */
static bool is_untrained(const Trainer *t)
{
    return t->state.attempts == 0 && (*t->config.train.init == '\0' || task_is_set(&t->config.task));
}

/* Records the value if it is the best one so far among those computed on the same held-out samples. */
static bool note_best(Trainer *t, double value)
{
    TrainState *state = &t->state;
    bool compares = state->best_step >= 0 && state->best_data == t->best_data;
    bool better = !compares || (t->best ? value > state->best_value : value < state->best_value);
    if (is_untrained(t) || !isfinite(value) || !better)
        return false;
    state->best_value = value;
    state->best_step = state->attempts;
    state->best_data = t->best_data;
    return true;
}

static const char *best_name(const Trainer *t)
{
    return t->best ? t->best : "held-out loss";
}

/* Counts evaluations without a better metric; after optim.plateau_patience of them the plateau schedule lowers the
 * learning rate. */
static void note_stale(Trainer *t, bool best)
{
    TrainState *state = &t->state;
    const OptimConfig *optim = &t->config.optim;
    if (state->attempts == 0)
        return;
    state->stale = best ? 0 : state->stale + 1;
    bool warm = schedule_warmed_up(&t->schedule, trainer_counts(state));
    state->plateau = best || !warm ? 0 : state->plateau + 1;
    if (t->schedule.kind != SCHEDULE_PLATEAU || state->plateau < optim->plateau_patience)
        return;
    state->plateau = 0;
    state->drops++;
    trainer_scale_rate(t);
    log_info("step %" PRId64 "  %s did not improve in %" PRId64
             " evaluations: the learning rate is multiplied by %g, %.3g in all",
             state->attempts, best_name(t), optim->plateau_patience, optim->plateau_factor, t->schedule.scale);
}

/* Evaluates everything before it reports any result, so that an abandoned evaluation logs nothing. Before the first
 * step no examples are answered, because an untrained model often generates up to the length limit. */
static bool evaluate_all(Trainer *t, SetResult *results, GError **error)
{
    const bool scores = t->state.attempts > 0;
    if (!evaluate_sets(t, results, error))
        return false;
    pulse_at(t->pulse, t->state.attempts, 0, "answering examples");
    if (scores && !trainer_score(t, error))
        return false;
    for (guint i = 0; i < t->valid->len; i++)
        report_set(t, i, &results[i]);
    if (scores)
        trainer_report_scores(t);
    return true;
}

bool trainer_evaluate(Trainer *t, bool *best, GError **error)
{
    double start = clock_seconds();
    g_autofree SetResult *results = g_new0(SetResult, t->valid->len);
    pulse_at(t->pulse, t->state.attempts, 0, "evaluation");
    fault_point("evaluation");
    if (!evaluate_all(t, results, error))
        return false;
    t->state.evaluated = t->state.attempts;
    t->state.evaluation_left = 0;
    const bool answered = t->best && t->state.attempts > 0;
    *best =
        (answered || !t->best) && note_best(t, answered ? trainer_best_score(t) : loss_sums_total(&results[0].sums));
    note_stale(t, *best);
    t->window_started += clock_seconds() - start; /* the reported training speed excludes evaluations */
    t->started += clock_seconds() - start;
    every_done(&t->eval_every);
    return true;
}

void trainer_report_best(const Trainer *t)
{
    const TrainState *state = &t->state;
    g_autofree char *link = run_linked_path(t->config.run.dir, "best");
    RunResult result;
    if (state->best_step < 0)
        return;
    bool read = run_result_read(&result, t->config.run.dir, state->best_step, NULL);
    g_autofree char *metrics = read ? run_result_describe(&result, t->best) : g_strdup("");
    log_info("best by %s: step %" PRId64 "%s%s%s  %s", t->best ? t->best : "loss", state->best_step,
             state->best_step == 0 ? ", the model that the run started from" : "", *metrics ? ": " : "", metrics, link);
    if (state->best_step != state->attempts && run_means_best(t->config.run.dir))
        log_info("%s means the best checkpoint from here on, %s@latest the one of step %" PRId64, t->config.run.dir,
                 t->config.run.dir, state->attempts);
    else if (state->best_step != state->attempts)
        log_info("%s means the checkpoint of step %" PRId64 ", %s@best the best one", t->config.run.dir,
                 state->attempts, t->config.run.dir);
    run_result_clear(&result);
}
