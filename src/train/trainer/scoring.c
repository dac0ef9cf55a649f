/* scoring.c: the scores of a run's task at its evaluations. */
#include "base/log.h"
#include "base/text.h"
#include "train/trainer/state.h"

#include <inttypes.h>
#include <string.h>

static bool best_is_loss(const Trainer *t)
{
    return strcmp(t->config.train.best, "loss") == 0;
}

/* Without scores a run goes on, unless one of them is to decide about its best checkpoint. */
static bool do_without(const Trainer *t, const char *reason, GError **error)
{
    if (!best_is_loss(t))
        return fail_user(error, "train.best=%s: %s", t->config.train.best, reason);
    log_warning("%s; evaluations give no scores", reason);
    return true;
}

static void report(const Trainer *t, const char *path)
{
    int64_t n = task_eval_count(t->task_eval), all = task_eval_total(t->task_eval);
    g_autofree char *some = text_grouped(n), *total = text_grouped(all);
    if (n < all)
        log_info("%s: evaluations answer %s of its %s examples; train.eval_samples=0 is all", path, some, total);
}

static bool open_examples(Trainer *t, const TaskFile *file, GError **error)
{
    const TaskEncoder encoder = config_task_encoder(&t->config, model_config(t->model), &t->task, t->tok);
    g_autoptr(GError) problem = NULL;
    t->task_eval = task_eval_open(&encoder, file, t->config.train.eval_samples, &problem);
    if (t->task_eval) {
        report(t, file->path);
        return task_eval_check(t->task_eval, error) || fail_context(error, "task.scores: %s", file->path);
    }
    g_autofree char *reason =
        problem ? g_strdup(problem->message)
                : g_strdup_printf("%s: not every example has its right answer, or there is none", file->path);
    return do_without(t, reason, error);
}

static bool miss_examples(const Trainer *t, GError **error)
{
    return best_is_loss(t) ||
           fail_user(error, "train.best=%s needs task.valid: a file of labelled data, or a share such as 10%%",
                     t->config.train.best);
}

bool trainer_open_scores(Trainer *t, GError **error)
{
    const Config *config = &t->config;
    TaskFile train, valid;
    if (!task_is_set(&config->task) || (!config->train.scores && best_is_loss(t)))
        return true;
    if (!task_configure(&t->task, &config->task, error) || !task_scores_check(&t->task, error))
        return false;
    if (!best_is_loss(t) && !(t->best = task_figure_find(&t->task, config->train.best, error)))
        return fail_context(error, "train.best");
    if (!task_files(&t->task, &config->task, &train, &valid, error))
        return false;
    g_free(train.path);
    bool left = !trainer_finished(t) || trainer_evaluation_due(t, true);
    bool good = !left || (valid.path ? open_examples(t, &valid, error) : miss_examples(t, error));
    g_free(valid.path);
    return good;
}
