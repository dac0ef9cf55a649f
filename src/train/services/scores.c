/* scores.c: computes task scores when a run evaluates: of the run's own task (task.*), or of the held-out sets that
 * were made from a task (run/task_set.h), as in a mixture of tasks. */
#include "base/text.h"
#include "eval/task_eval.h"
#include "run/task_set.h"
#include "train/services/service.h"

#include <string.h>

#define MEAN "mean" /* value of train.best: the mean over all tasks */

typedef struct ScoredTask {
    const char *name; /* name of the held-out set, the prefix of its metrics' names ("rte.accuracy"); NULL means none */
    TaskConfig own;   /* the task's options, if it belongs to a held-out set */
    const TaskConfig *config;
    Task task;
    TaskEval *eval;  /* the examples; NULL until they are opened */
    GArray *metrics; /* Metric, of the last scores_run */
    double seconds;  /* seconds that this scores_run took */
} ScoredTask;

static void free_scored(void *memory)
{
    ScoredTask *scored = memory;
    task_eval_close(scored->eval);
    g_array_unref(scored->metrics);
    task_set_clear(&scored->own);
    g_free(scored);
}

typedef struct Scores {
    GPtrArray *tasks; /* ScoredTask * */
    char *best;       /* the metric that train.best names; NULL means the held-out loss */
} Scores;

static const Scores *scores_of(const Trainer *t)
{
    return service_own(t, &scores_service);
}

static ScoredTask *scored_at(const Scores *scores, guint i)
{
    return scores->tasks->pdata[i];
}

static bool best_is_loss(const Trainer *t)
{
    return strcmp(t->config.train.best, "loss") == 0;
}

/* ---- which tasks ---- */

static ScoredTask *scored_new(const char *name)
{
    ScoredTask *scored = g_new0(ScoredTask, 1);
    scored->name = name;
    scored->metrics = metric_list_new();
    return scored;
}

static bool add_own(Scores *scores, const Trainer *t, GError **error)
{
    ScoredTask *scored = scored_new(NULL);
    g_ptr_array_add(scores->tasks, scored);
    scored->config = &t->config.task;
    return task_configure(&scored->task, scored->config, error) && task_scores_check(&scored->task, error);
}

/* Adds the task of a held-out set, if the set is a complete dataset that was made from a task. */
static bool add_scored_set(Scores *scores, const Trainer *t, const HeldoutSet *set, GError **error)
{
    double shares[SPLIT_PARTS];
    int part;
    bool found = false;
    ScoredTask *scored = scored_new(set->name);
    bool good = split_read_name(set->path_prefix, &part, shares, NULL) != 0 ||
                task_set_read(set->path_prefix, &scored->own, &found, error);
    if (!good || !found) {
        free_scored(scored);
        return good;
    }
    task_use_copy(&scored->own, set->path_prefix);
    scored->own.classifies = t->config.task.classifies;
    scored->own.classes = t->config.task.classes;
    scored->own.labels_from = t->config.task.labels_from;
    scored->config = &scored->own;
    g_ptr_array_add(scores->tasks, scored);
    return (task_configure(&scored->task, scored->config, error) && task_scores_check(&scored->task, error)) ||
           fail_context(error, "%s.task.yaml", set->path_prefix);
}

static bool add_tasks(Scores *scores, const Trainer *t, GError **error)
{
    if (task_is_set(&t->config.task))
        return add_own(scores, t, error);
    for (guint i = 0; i < t->valid->len; i++)
        if (!add_scored_set(scores, t, t->valid->pdata[i], error))
            return false;
    return scores->tasks->len > 0 || best_is_loss(t) ||
           fail_user(error,
                     "train.best=%s: no dataset of data.valid was made from a task (PREFIX.task.yaml, which `loam task "
                     "prepare` writes)",
                     t->config.train.best);
}

/* ---- train.best ---- */

/* A metric's name without this task's: "accuracy" for "rte.accuracy"; NULL if the metric belongs to another task. */
static const char *own_part(const ScoredTask *scored, const char *metric)
{
    const size_t n = scored->name ? strlen(scored->name) : 0;
    if (scored->name == NULL)
        return metric;
    return strncmp(metric, scored->name, n) == 0 && metric[n] == '.' ? metric + n + 1 : NULL;
}

/* The full name of the metric that `name` stands for: "rte.accuracy" for "accuracy". NULL on error. g_free. */
static char *metric_of(const ScoredTask *scored, const char *name, GError **error)
{
    g_autofree char *metric = task_metric_find(&scored->task, name, error);
    if (metric == NULL || scored->name == NULL)
        return g_steal_pointer(&metric);
    return g_strconcat(scored->name, ".", metric, NULL);
}

/* Sets scores->best from train.best: with one task the name of a score; with several NAME.SCORE or "mean". */
static bool find_best(Scores *scores, const Trainer *t, GError **error)
{
    const char *best = t->config.train.best;
    g_autoptr(GString) names = g_string_new(NULL);
    for (guint i = 0; i < scores->tasks->len && scores->best == NULL; i++) {
        const ScoredTask *scored = scored_at(scores, i);
        const char *part = scores->tasks->len == 1 && !own_part(scored, best) ? best : own_part(scored, best);
        if (part && !(scores->best = metric_of(scored, part, error)))
            return fail_context(error, "train.best");
        g_string_append_printf(names, ", %s.%.*s", scored->name ? scored->name : "",
                               (int)strcspn(scored->task.scores, ","), scored->task.scores);
    }
    if (scores->best == NULL && scores->tasks->len > 1 && strcmp(best, MEAN) == 0)
        scores->best = g_strdup(MEAN);
    return scores->best ||
           fail_user(error, "train.best=%s: want the score of a task, or their mean: " MEAN "%s", best, names->str);
}

/* ---- their examples ---- */

/* Called if a task cannot be scored: an error if train.best is a score, else only a warning. */
static bool do_without(const Trainer *t, const char *reason, GError **error)
{
    if (!best_is_loss(t))
        return fail_user(error, "train.best=%s: %s", t->config.train.best, reason);
    log_warning("%s; evaluations give no scores", reason);
    return true;
}

static void report_task_scores(const ScoredTask *scored, const char *path)
{
    int64_t n = scored->eval->examples->len, all = scored->eval->total;
    g_autofree char *some = text_grouped(n), *total = text_grouped(all);
    if (n < all)
        log_info("%s: evaluations answer %s of its %s examples; the held-out loss and its accuracy are of another "
                 "selection; train.eval_samples=0 means all",
                 path, some, total);
    task_eval_report(scored->eval, path);
}

static TaskEncoder encoder_of(const Trainer *t, const ScoredTask *scored)
{
    TaskEncoder encoder = config_task_encoder(&t->config, model_config(t->model), &scored->task, t->tok);
    encoder.config = scored->config;
    if (scored->task.learns == LABELS_NONE)
        encoder.target_length = config_answer_length(&t->config);
    return encoder;
}

static bool open_examples(const Trainer *t, ScoredTask *scored, const TaskFile *file, GError **error)
{
    const TaskEncoder encoder = encoder_of(t, scored);
    g_autoptr(GError) problem = NULL;
    scored->eval = task_eval_open(&encoder, file, t->config.train.eval_samples, &problem);
    if (scored->eval) {
        report_task_scores(scored, file->path);
        const char *valid = scored->config->valid; /* file: the run's copy of the examples, which nobody knows */
        return task_eval_check(scored->eval, error) ||
               fail_context(error, "task.scores: the held-out examples of task.%s=%s", *valid ? "valid" : "data",
                            *valid ? valid : scored->config->data);
    }
    g_autofree char *reason =
        problem ? g_strdup(problem->message)
                : g_strdup_printf("%s: an example has no right answer, or there is no example", file->path);
    return do_without(t, reason, error);
}

static bool miss_examples(const Trainer *t, GError **error)
{
    return best_is_loss(t) ||
           fail_user(error, "train.best=%s needs task.valid: a file of labelled data, or a share such as 10%%",
                     t->config.train.best);
}

static bool open_scored_task(const Trainer *t, ScoredTask *scored, GError **error)
{
    g_auto(TaskFile) train = { 0 }, valid = { 0 };
    return task_files(&scored->task, scored->config, &train, &valid, error) &&
           (valid.path ? open_examples(t, scored, &valid, error) : miss_examples(t, error));
}

static bool open_tasks(Scores *scores, const Trainer *t, GError **error)
{
    if (!t->config.train.scores && best_is_loss(t))
        return true;
    if (!add_tasks(scores, t, error) || (!best_is_loss(t) && !find_best(scores, t, error)))
        return false;
    for (guint i = scores->tasks->len; i > 0; i--) {
        ScoredTask *scored = scored_at(scores, i - 1);
        if (!t->start.finished && !open_scored_task(t, scored, error))
            return false;
        if (scored->eval == NULL)
            g_ptr_array_remove_index(scores->tasks, i - 1);
    }
    return true;
}

static void *scores_open(const Trainer *t, GError **error)
{
    Scores *scores = g_new0(Scores, 1);
    scores->tasks = g_ptr_array_new_with_free_func(free_scored);
    open_tasks(scores, t, error);
    return scores;
}

static void scores_free(void *own)
{
    Scores *scores = own;
    g_ptr_array_unref(scores->tasks);
    g_free(scores->best);
    g_free(scores);
}

guint scores_count(const Trainer *t)
{
    return scores_of(t)->tasks->len;
}

const char *scores_best_name(const Trainer *t)
{
    return scores_of(t)->best;
}

uint64_t scores_hash(const Trainer *t)
{
    const Scores *scores = scores_of(t);
    uint64_t hash = 0;
    for (guint i = 0; i < scores->tasks->len; i++)
        hash = hash * 31 + scored_at(scores, i)->eval->hash;
    return hash;
}

/* ---- an evaluation ---- */

/* The ranks that divide the examples. The stages of a pipeline answer the same ones together. With ZeRO 3 each stage
 * also waits for the same stage of other pipelines to gather a block, so that pipelines which were at different steps
 * would wait for each other for ever: all of them answer all examples. */
static Comm *dividing(const Trainer *t)
{
    const bool in_step = t->config.parallel.zero >= ZERO_WEIGHTS && comm_size(t->mesh.pipeline) > 1;
    return in_step ? comm_self() : t->mesh.replicas;
}

bool scores_run(const Trainer *t, GError **error)
{
    const Scores *scores = scores_of(t);
    bool (*stop)(void) = comm_size(t->mesh.world) > 1 ? NULL : stop_requested;
    for (guint i = 0; i < scores->tasks->len; i++) {
        ScoredTask *scored = scored_at(scores, i);
        const double start = clock_seconds();
        g_array_set_size(scored->metrics, 0);
        const bool good = task_eval_run(scored->eval, t->model, dividing(t), stop, scored->metrics, error);
        /* A user's error, such as a prompt that is too long, is that of all ranks that share its passes. */
        const bool missing = !good && g_error_matches(*error, LOAM_ERROR, LOAM_ERROR_MACHINE);
        if (!ranks_agree_on_passes(t, good, missing, error))
            return false;
        scored->seconds = clock_seconds() - start;
    }
    return true;
}

/* The mean of one task's main scores, such as F1 and accuracy of MRPC. */
static double task_mean(const ScoredTask *scored)
{
    double sum = 0;
    int n = 0;
    for (guint i = 0; i < scored->metrics->len; i++) {
        const Metric *metric = &g_array_index(scored->metrics, Metric, i);
        if (metric_is_main(metric->name)) {
            sum += metric->value;
            n++;
        }
    }
    return sum / n;
}

/* The mean of task_mean over all tasks, as in GLUE. */
static double mean_score(const Scores *scores)
{
    double sum = 0;
    for (guint i = 0; i < scores->tasks->len; i++)
        sum += task_mean(scored_at(scores, i));
    return sum / scores->tasks->len;
}

static void tell_scores(const Trainer *t, const char *name, const GArray *metrics, int64_t n, double seconds)
{
    services_tell(t, &(LogRecord){ METRIC_SCORE, t->state.steps, .scores = { name, metrics, n, seconds } });
}

void scores_report(const Trainer *t)
{
    const Scores *scores = scores_of(t);
    const Metric mean = { .name = (char *)(uintptr_t)MEAN,
                          .value = scores->tasks->len > 1 ? mean_score(scores) : (double)NAN };
    int64_t n = 0;
    double seconds = 0;
    for (guint i = 0; i < scores->tasks->len; i++) {
        const ScoredTask *scored = scored_at(scores, i);
        tell_scores(t, scored->name, scored->metrics, scored->eval->examples->len, scored->seconds);
        g_autofree char *samples = task_eval_samples(scored->eval, t->config.log.samples);
        if (samples)
            services_tell(t, &(LogRecord){ METRIC_SAMPLE, t->state.steps, .samples = { scored->name, samples } });
        n += scored->eval->examples->len;
        seconds += scored->seconds;
    }
    if (scores->tasks->len < 2)
        return;
    g_autoptr(GArray) metrics = g_array_new(false, false, sizeof(Metric));
    g_array_append_val(metrics, mean);
    tell_scores(t, NULL, metrics, n, seconds);
}

double scores_best(const Trainer *t)
{
    const Scores *scores = scores_of(t);
    if (strcmp(scores->best, MEAN) == 0 && scores->tasks->len > 1)
        return mean_score(scores);
    for (guint i = 0; i < scores->tasks->len; i++) {
        const char *part = own_part(scored_at(scores, i), scores->best);
        if (part)
            return metric_value(scored_at(scores, i)->metrics, part);
    }
    return (double)NAN;
}

const Service scores_service = { .refuses = true, .open = scores_open, .free = scores_free };
