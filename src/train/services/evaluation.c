/* evaluation.c: evaluates held-out data and tasks, and keeps track of the best checkpoint. */
#include "base/fault.h"
#include "base/text.h"
#include "run/best.h"
#include "run/history.h"
#include "train/services/service.h"

#include <string.h>

typedef struct Evaluation {
    TrainState *counters; /* of evaluations: best_*, evaluated, stale, … */
    Every every;
    int64_t best_data; /* hash of the held-out samples that evaluations use and of train.best */
} Evaluation;

/* The metric that decides which checkpoint is the best. */
static const char *best_name(const Trainer *t)
{
    return scores_best_name(t) ? scores_best_name(t) : "held-out loss";
}

/* Sets best_data. Logs a message if the best checkpoint so far was chosen by another metric or other samples: the next
 * evaluation replaces it. In a run that has ended, the scores are not opened. */
static void plan_best(Evaluation *own, const Trainer *t)
{
    const TrainState *state = &t->state;
    const char *best = scores_best_name(t);
    if (t->valid->len == 0 || (best && scores_count(t) == 0))
        return;
    own->best_data = heldout_set_hash(t->valid->pdata[0], t->config.train.eval_samples);
    if (best)
        own->best_data ^= (int64_t)(scores_hash(t) + g_str_hash(best));
    if (state->best_step >= 0 && state->best_data != own->best_data)
        log_info("the best %s so far (step %" PRId64 ") was computed %s: the next evaluation replaces it",
                 best ? best : "loss", state->best_step,
                 trainer_has_changed(t, "train.best") ? "by another train.best"
                                                      : "on other held-out samples, or by another train.best");
}

/* Fails if train.best, train.patience or the plateau schedule are set but there is no held-out data to evaluate. */
static bool check_held_out(const Trainer *t, GError **error)
{
    const char *needs = t->config.train.patience > 0                ? "train.patience"
                        : t->schedule.kind == SCHEDULE_PLATEAU      ? "optim.schedule=plateau"
                        : strcmp(t->config.train.best, "loss") != 0 ? "train.best"
                                                                    : NULL;
    return t->valid->len > 0 || !needs ||
           fail_user(error, "%s needs held-out data: set data.valid, or task.valid", needs);
}

static void *evaluation_open(const Trainer *t, GError **error)
{
    Evaluation *evaluation = g_new0(Evaluation, 1);
    evaluation->every = trainer_every(t, t->config.train.eval_every);
    every_begun(&evaluation->every, t->start.trained_s);
    if (check_held_out(t, error))
        plan_best(evaluation, t);
    return evaluation;
}

static unsigned evaluation_due(void *own, G_GNUC_UNUSED const Trainer *t, const EveryCounts *counts)
{
    return every_due(&((Evaluation *)own)->every, counts) ? DUE_EVAL : 0;
}

typedef struct SetResult {
    LossSums sums;
    double seconds;
} SetResult;

/* Lowest loss, with this one, of the set that decides the best checkpoint; NaN for others, or if a score does. */
static double lowest_loss(const Evaluation *own, const Trainer *t, guint i, double loss)
{
    const TrainState *state = &t->state;
    if (i > 0 || scores_best_name(t))
        return NAN;
    return state->best_step >= 0 && state->best_data == own->best_data ? fmin(state->best_value, loss) : loss;
}

/* The bytes of the targets' text of a held-out set, counted once, by the rank that logs; -1 if they are not known. */
static int64_t text_bytes_of(const Trainer *t, HeldoutSet *set, const LossSums *sums)
{
    g_autoptr(GError) ignored = NULL;
    const bool wanted = comm_rank(t->mesh.world) == 0 && t->tok && loss_sums_main(sums) == HEAD_TOKENS;
    if (wanted && set->bytes == 0 &&
        !heldout_bytes(set->loader, t->tok, t->config.train.eval_samples, &set->bytes, &ignored))
        set->bytes = -1;
    return wanted ? set->bytes : -1;
}

static void report_set(const Evaluation *own, const Trainer *t, guint i, const SetResult *result)
{
    HeldoutSet *set = t->valid->pdata[i];
    const int64_t n = t->config.train.eval_samples, all = loader_epoch_packed(set->loader);
    const ValidRecord record = { .step = t->state.steps,
                                 .name = set->name,
                                 .index = (int)i,
                                 .sums = &result->sums,
                                 .seconds = result->seconds,
                                 .bits_per_byte =
                                     heldout_bits_per_byte(&result->sums, text_bytes_of(t, set, &result->sums)),
                                 .samples = n > 0 ? MIN(n, all) : all,
                                 .batches = ((n > 0 ? MIN(n, all) : all) + t->plan.micro_most - 1) / t->plan.micro_most,
                                 .train_samples = t->state.samples,
                                 .updates = t->state.updates,
                                 .epochs = (double)t->state.samples / (double)loader_epoch_packed(t->train),
                                 .best = lowest_loss(own, t, i, loss_sums_total(&result->sums)) };
    if (loss_sums_heads(&result->sums) > 0)
        services_tell(t, &(LogRecord){ METRIC_VALID, record.step, .valid = &record });
    else
        log_warning("step %" PRId64 "  the held-out samples of %s have no target token: there is no loss to report",
                    t->state.steps, set->path_prefix);
}

static bool evaluate_sets(const Trainer *t, SetResult *results, GError **error)
{
    for (guint i = 0; i < t->valid->len; i++) {
        const HeldoutSet *set = t->valid->pdata[i];
        double start = clock_seconds();
        const HeldoutPart part = { comm_rank(t->mesh.data), comm_size(t->mesh.data) };
        const bool good = heldout_loss(t->model, set->loader, t->config.train.eval_samples, t->plan.micro_most, part,
                                       comm_size(t->mesh.world) > 1 ? NULL : stop_requested, &results[i].sums, error);
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
    return t->state.steps == 0 && (*t->config.train.init == '\0' || task_is_set(&t->config.task));
}

/* Records the value if it is the best one so far among those computed on the same held-out samples. */
static bool note_best(const Evaluation *own, const Trainer *t, double value)
{
    TrainState *state = own->counters;
    bool compares = state->best_step >= 0 && state->best_data == own->best_data;
    bool better = !compares || (scores_best_name(t) ? value > state->best_value : value < state->best_value);
    if (is_untrained(t) || !isfinite(value) || !better)
        return false;
    state->best_value = value;
    state->best_step = state->steps;
    state->best_data = own->best_data;
    return true;
}

/* Counts evaluations without a better metric; after optim.plateau_patience the plateau schedule lowers the rate. */
static void note_stale(const Evaluation *own, const Trainer *t, bool best)
{
    TrainState *state = own->counters;
    const OptimConfig *optim = &t->config.optim;
    if (state->steps == 0)
        return;
    state->stale = best ? 0 : state->stale + 1;
    bool warm = schedule_warmed_up(&t->schedule, trainer_counts(state));
    state->plateau = best || !warm ? 0 : state->plateau + 1;
    if (t->schedule.kind != SCHEDULE_PLATEAU || state->plateau < optim->plateau_patience)
        return;
    state->plateau = 0;
    state->drops++;
    log_info("step %" PRId64 "  %s did not improve in %" PRId64
             " evaluations: the learning rate is multiplied by %g, %.3g in all",
             state->steps, best_name(t), optim->plateau_patience, optim->plateau_factor, trainer_rate_scale(t));
}

/* Evaluates everything before it reports any result, so that an abandoned evaluation logs nothing. Before the first
 * step no examples are answered, because an untrained model often generates up to the length limit. */
static bool evaluate_all(const Evaluation *own, const Trainer *t, SetResult *results, GError **error)
{
    const bool scores = t->state.steps > 0;
    if (!evaluate_sets(t, results, error))
        return false;
    pulse_at(t->pulse, t->state.steps, 0, "answering examples");
    if (scores && !scores_run(t, error))
        return false;
    for (guint i = 0; i < t->valid->len; i++)
        report_set(own, t, i, &results[i]);
    if (scores)
        scores_report(t);
    return true;
}

/* *best becomes true if train.best is better than in all earlier evaluations. */
static bool evaluate_heldout(Evaluation *own, const Trainer *t, bool *best, GError **error)
{
    TrainState *state = own->counters;
    g_autofree SetResult *results = g_new0(SetResult, t->valid->len);
    pulse_at(t->pulse, state->steps, 0, "evaluation");
    fault_point("evaluation");
    if (!evaluate_all(own, t, results, error))
        return false;
    state->evaluated = state->steps;
    state->evaluation_left = 0;
    const bool by_score = scores_best_name(t), answered = by_score && state->steps > 0;
    *best = (answered || !by_score) && note_best(own, t, answered ? scores_best(t) : loss_sums_total(&results[0].sums));
    note_stale(own, t, *best);
    every_done(&own->every);
    return true;
}

/* Says which checkpoint is the best one in place of one that is missing, and links it. */
static void settle_best(const Trainer *t)
{
    const char *dir = t->config.run.dir;
    const RunBest best = { .step = t->state.best_step };
    g_autofree char *what = run_describe_best(&best, t->start.lost_best);
    log_warning("%s", what);
    services_event(t, what);
    if (comm_rank(t->mesh.world) > 0)
        return;
    if (best.step >= 0)
        run_link(dir, "best", best.step);
    else
        run_unlink(dir, "best", NULL);
}

/* Evaluates at step 0, or makes the evaluation that a request to stop prevented, and saves that step's checkpoint again
 * with the result. A trained model that the run starts from (train.init) is saved as the best so far. */
static Verdict evaluation_at_start(void *own, const Trainer *t, GError **error)
{
    bool best = false;
    if (t->start.best_lost && !trainer_had_ended(t))
        settle_best(t);
    if (!trainer_evaluation_due(t, trainer_finished(t)))
        return VERDICT_GO_ON;
    if (!evaluate_heldout(own, t, &best, error))
        return VERDICT_ABORT;
    const Verdict save = trainer_finished(t) ? VERDICT_END : VERDICT_SAVE;
    return best || saving_saved(t) == t->state.steps ? save : VERDICT_GO_ON;
}

static Verdict evaluation_after_step(void *own, const Trainer *t, GError **error)
{
    bool best = false;
    if (trainer_evaluation_due(t, t->step.last) && !evaluate_heldout(own, t, &best, error))
        return VERDICT_FAIL;
    return trainer_out_of_patience(t) ? VERDICT_END : best ? VERDICT_SAVE : VERDICT_GO_ON;
}

static void evaluation_keep(G_GNUC_UNUSED void *own, const Trainer *t, KeptSteps *kept)
{
    service_keep(kept, t->state.best_step);
}

static void note_patience(const Trainer *t)
{
    const bool undefined = scores_best_name(t) && isnan(scores_best(t));
    g_autofree char *evaluations = text_counted(t->state.stale, "evaluation");
    g_autofree char *what = g_strdup_printf("no better %s in %s%s: the run ends (train.patience)", best_name(t),
                                            evaluations, undefined ? ", the last is undefined (nan)" : "");
    log_info("step %" PRId64 "  %s", t->state.steps, what);
    services_event(t, what);
}

/* The metric by which the best checkpoint was chosen: of a run that had ended that of RUN/config.yaml, since a
 * train.best of this command is ignored. g_free; NULL means the held-out loss. */
static char *chosen_by(const Trainer *t)
{
    g_autofree char *path = g_build_filename(t->config.run.dir, "config.yaml", NULL);
    g_autoptr(GPtrArray) saved = option_settings_new();
    const bool read = trainer_had_ended(t) && option_settings_read_yaml(saved, path, NULL);
    const char *best = read ? option_settings_find(saved, "train.best") : NULL;
    if (best == NULL || strcmp(best, t->config.train.best) == 0)
        return g_strdup(scores_best_name(t));
    return strcmp(best, "loss") == 0 ? NULL : g_strdup(best);
}

/* The metrics of an evaluation, of which the loss may be of another held-out set than the first one of data.valid. */
static char *describe_result(const RunResult *result, const char *best)
{
    g_autofree char *metrics = run_result_describe(result, best), *other = run_result_other_set(result);
    return other ? g_strdup_printf("%s%sheld-out loss %.4f, of %s", metrics, *metrics ? ", " : "", result->led_loss,
                                   other)
                 : g_steal_pointer(&metrics);
}

static void report_best(const Trainer *t)
{
    const TrainState *state = &t->state;
    const char *dir = t->config.run.dir;
    g_autofree char *best = chosen_by(t), *link = run_linked_path(dir, "best");
    g_auto(RunResult) result = { 0 };
    const int64_t lost = run_lost_best(dir);
    if (lost >= 0)
        log_warning("the best checkpoint, step %" PRId64 ", is missing: %s means the newest one, step %" PRId64, lost,
                    dir, state->steps);
    g_autofree char *undefined = lost >= 0 ? NULL : run_describe_undefined(state, best);
    if (undefined)
        log_warning("%s", undefined);
    if (lost >= 0 || state->best_step < 0)
        return;
    bool read = run_result_read(&result, dir, state->best_step, NULL);
    g_autofree char *metrics = read ? describe_result(&result, best) : g_strdup("");
    log_info("best by %s: step %" PRId64 "%s%s%s  %s", best ? best : "loss", state->best_step,
             state->best_step == 0 ? ", the model that the run started from" : "", *metrics ? ": " : "", metrics, link);
    if (state->best_step != state->steps && run_means_best(t->config.run.dir))
        log_info("%s means the best checkpoint from here on, %s@latest the one of step %" PRId64, t->config.run.dir,
                 t->config.run.dir, state->steps);
    else if (state->best_step != state->steps)
        log_info("%s means the checkpoint of step %" PRId64 ", %s@best the best one", t->config.run.dir, state->steps,
                 t->config.run.dir);
}

static Verdict evaluation_at_end(G_GNUC_UNUSED void *own, const Trainer *t, G_GNUC_UNUSED GError **error)
{
    if (trainer_out_of_patience(t) && !t->start.finished)
        note_patience(t);
    report_best(t);
    return VERDICT_GO_ON;
}

const Service evaluation_service = { .pauses = PAUSES_RUN,
                                     .refuses = true,
                                     .open = evaluation_open,
                                     .own_counters = true,
                                     .due = evaluation_due,
                                     .at_start = evaluation_at_start,
                                     .after_step = evaluation_after_step,
                                     .keep = evaluation_keep,
                                     .at_end = evaluation_at_end };
