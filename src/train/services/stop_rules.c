#include "train/services/service.h"

#define SLOWER 1.2 /* factor on the longest save so far, as the last save may take longer */

StopRules stop_rules_of(const Config *config, int64_t epoch_samples, bool count_tokens, double started)
{
    const TrainConfig *train = &config->train;
    StopRules rules = { .exit_every = every_of(config, train->exit_every, epoch_samples, count_tokens),
                        .end = INFINITY,
                        .date = INFINITY,
                        .file = train->stop_file,
                        .last_look = clock_seconds() };
    double date;
    if (train->stop_after.value > 0)
        rules.end = started + train->stop_after.value;
    config_stop_date(config, &date, NULL);
    if (date > 0)
        rules.date = date;
    return rules;
}

StopRule stop_rules_look(StopRules *rules, const EveryCounts *counts)
{
    const double now = clock_seconds();
    if (counts->step_samples > 0)
        rules->longest_step = fmax(rules->longest_step, now - rules->last_look);
    rules->last_look = now;
    const double needed = rules->longest_step + SLOWER * rules->longest_save;
    if (now + needed >= rules->end)
        return STOP_AFTER;
    if ((double)g_get_real_time() / G_USEC_PER_SEC + needed >= rules->date)
        return STOP_DATE;
    if (*rules->file && g_file_test(rules->file, G_FILE_TEST_EXISTS))
        return STOP_FILE;
    return counts->step_samples > 0 && every_due(&rules->exit_every, counts) ? STOP_EXIT_EVERY : STOP_NONE;
}

char *stop_rule_describe(const Config *config, StopRule rule)
{
    static const char *const names[] = { [STOP_NONE] = "request",
                                         [STOP_AFTER] = "train.stop_after",
                                         [STOP_DATE] = "train.stop_date",
                                         [STOP_FILE] = "train.stop_file",
                                         [STOP_EXIT_EVERY] = "train.exit_every" };
    if (rule == STOP_NONE)
        return g_strdup("on request");
    g_autofree char *value = options_plain_value(config_options(), config, options_find(config_options(), names[rule]));
    return g_strdup_printf("by %s=%s", names[rule], value);
}

static void *stop_rules_open(const Trainer *t, G_GNUC_UNUSED GError **error)
{
    const StopRules rules =
        stop_rules_of(&t->config, loader_epoch_packed(t->train), trainer_counts_tokens(t), t->start.command_s);
    return g_memdup2(&rules, sizeof rules);
}

static unsigned stop_rules_due(void *own, G_GNUC_UNUSED const Trainer *t, const EveryCounts *counts)
{
    const StopRule rule = stop_rules_look(own, counts);
    return rule != STOP_NONE ? DUE_STOP | DUE_RULE * (unsigned)rule : 0;
}

/* After a request to stop, an evaluation that is due is left to the resumed run. */
static Verdict stop_rules_after_step(G_GNUC_UNUSED void *own, const Trainer *t, GError **error)
{
    if (t->step.last || !(t->due & DUE_STOP))
        return VERDICT_GO_ON;
    fail_stopped(error);
    return VERDICT_FAIL;
}

static void stop_rules_told(void *own, const LogRecord *record)
{
    StopRules *rules = own;
    if (record->kind == METRIC_SAVE)
        rules->longest_save = MAX(rules->longest_save, record->save.seconds);
}

const Service stop_rules_service = {
    .open = stop_rules_open, .due = stop_rules_due, .after_step = stop_rules_after_step, .told = stop_rules_told
};
