#include "run/history.h"

#include "base/json_line.h"
#include "base/log.h"
#include "run/metric_lines.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void add_point(GArray *points, double step, double tokens, double loss)
{
    const HistoryPoint point = { .step = (int64_t)step, .tokens = tokens, .loss = loss };
    if (points->len == 0 || g_array_index(points, HistoryPoint, points->len - 1).step < point.step)
        g_array_append_val(points, point);
}

static void take_history_record(History *history, const MetricRecord *record)
{
    const double step = metric_number(record->json, "step"), loss = metric_number(record->json, "loss"),
                 tokens = metric_number(record->json, "tokens");
    if (!(step >= 0 && step <= 1e15) || !isfinite(loss))
        return;
    if (record->kind == METRIC_TRAIN && isfinite(tokens))
        add_point(history->train, step, tokens, loss);
    else if (record->kind == METRIC_VALID && record->first_set)
        add_point(history->valid, step, NAN, loss);
}

double history_x(const HistoryPoint *point, bool by_tokens)
{
    return by_tokens ? point->tokens : (double)point->step;
}

double history_loss_at(const GArray *points, bool by_tokens, double x)
{
    for (guint i = 0; i < points->len; i++) {
        const HistoryPoint *point = &g_array_index(points, HistoryPoint, i);
        double here = history_x(point, by_tokens);
        if (here == x)
            return point->loss;
        if (here < x)
            continue;
        if (i == 0)
            return NAN;
        double before = history_x(point - 1, by_tokens), share = (x - before) / (here - before);
        return point[-1].loss + share * (point->loss - point[-1].loss);
    }
    return NAN;
}

/* Input tokens read up to a step: interpolated linearly between the log records before and after it (the start of the
 * run counts as a record with 0 tokens), extrapolated after the last record. NAN if no training step is logged. */
static double tokens_at_step(const GArray *train, int64_t step)
{
    HistoryPoint before = { 0 }, after = { .tokens = step == 0 ? 0 : NAN };
    for (guint i = 0; i < train->len && after.step < step; i++) {
        before = after.step > 0 ? after : before;
        after = g_array_index(train, HistoryPoint, i);
    }
    double a_step = (after.tokens - before.tokens) / (double)MAX(after.step - before.step, 1);
    return after.tokens + a_step * (double)(step - after.step);
}

/* Sets the token counts of held-out points, which their records lack, from the training records. */
static void set_valid_tokens(History *history)
{
    for (guint i = 0; i < history->valid->len; i++) {
        HistoryPoint *point = &g_array_index(history->valid, HistoryPoint, i);
        point->tokens = tokens_at_step(history->train, point->step);
    }
}

bool history_read(History *history, const char *dir, GError **error)
{
    *history = (History){ .train = g_array_new(FALSE, FALSE, sizeof(HistoryPoint)),
                          .valid = g_array_new(FALSE, FALSE, sizeof(HistoryPoint)) };
    MetricReader reader;
    if (!metric_reader_open(&reader, dir, error))
        return false;
    while (metric_reader_next(&reader))
        take_history_record(history, &reader.record);
    history->skipped = reader.skipped;
    history->replaced = reader.replaced;
    history->held_out = g_strdup(metric_reader_held_out(&reader));
    const bool read = metric_reader_close(&reader, error);
    set_valid_tokens(history);
    if (!read || history->train->len > 0 || history->valid->len > 0)
        return read;
    if (history->skipped > 0)
        return fail_user(error, "%s/metrics.jsonl holds no loss: %" PRId64 " of its lines are no JSON objects", dir,
                         history->skipped);
    return fail_user(error, "%s/metrics.jsonl holds no loss yet", dir);
}

void history_clear(History *history)
{
    g_clear_pointer(&history->train, g_array_unref);
    g_clear_pointer(&history->valid, g_array_unref);
    g_clear_pointer(&history->held_out, g_free);
}

void history_tell_replaced(const char *run, int64_t step)
{
    if (step >= 0)
        log_warning("%s: the data of its held-out set changed, or train.eval_samples: the losses up to step %" PRId64
                    " are of other samples and left out",
                    run, step);
}

/* ---- one evaluation ---- */

/* Adds a metric, or replaces it: a killed and resumed run may log an evaluation twice, and the later counts. */
static void add_metric(GArray *metrics, const char *name, const json_t *json)
{
    const double value = json_is_number(json) ? json_number_value(json) : NAN;
    for (guint i = 0; i < metrics->len; i++)
        if (strcmp(g_array_index(metrics, Metric, i).name, name) == 0) {
            g_array_index(metrics, Metric, i).value = value;
            return;
        }
    const Metric metric = { .name = g_strdup(name), .value = value };
    g_array_append_val(metrics, metric);
}

/* Takes the metrics of a record; those of an earlier step go. */
static void take_result_record(RunResult *result, const MetricRecord *record)
{
    const char *key;
    json_t *value;
    const bool score = record->kind == METRIC_SCORE;
    if (record->step != result->step)
        g_array_set_size(result->metrics, 0);
    result->step = record->step;
    json_object_foreach(record->json, key, value)
    {
        g_autofree char *of_set = score && *record->set ? g_strdup_printf("%s.%s", record->set, key) : NULL;
        if (score ? metric_is_score(key) : strcmp(key, "loss") == 0 || strcmp(key, "perplexity") == 0)
            add_metric(result->metrics, of_set ? of_set : key, value);
    }
}

bool run_result_read(RunResult *result, const char *dir, int64_t step, GError **error)
{
    MetricReader reader;
    *result = (RunResult){ .step = -1, .metrics = metric_list_new(), .led_step = -1, .led_loss = NAN, .replaced = -1 };
    if (!metric_reader_open(&reader, dir, error))
        return false;
    while (metric_reader_next(&reader)) {
        const MetricRecord *record = &reader.record;
        const bool of_step = record->step >= 0 && (step < 0 || record->step == step);
        if (of_step && (record->kind == METRIC_SCORE || record->first_set))
            take_result_record(result, record);
        if (of_step && record->kind == METRIC_VALID && record->leads) {
            result->led_step = record->step;
            result->led_loss = metric_number(record->json, "loss");
            g_free(result->led_set);
            result->led_set = g_strdup(json_text(record->json, "name"));
        }
    }
    result->replaced = reader.replaced;
    result->set = g_strdup(reader.first_set);
    result->held_out = g_strdup(metric_reader_held_out(&reader));
    return metric_reader_close(&reader, error);
}

void run_result_clear(RunResult *result)
{
    g_clear_pointer(&result->metrics, g_array_unref);
    g_clear_pointer(&result->set, g_free);
    g_clear_pointer(&result->led_set, g_free);
    g_clear_pointer(&result->held_out, g_free);
}

char *run_result_other_set(const RunResult *result)
{
    if (result->led_step < 0 || !isnan(metric_value(result->metrics, "loss")))
        return NULL;
    return g_strcmp0(result->led_set, result->set) == 0
               ? g_strdup_printf("other samples of the held-out set %s than now", result->led_set)
               : g_strdup_printf("another held-out set than now, %s", result->led_set);
}

static void describe_metric(GString *text, const Metric *metric)
{
    bool loss = strcmp(metric->name, "loss") == 0;
    g_string_append_printf(text, "%s%s %.*f", text->len ? ", " : "", loss ? "held-out loss" : metric->name,
                           loss ? 4 : 2, metric->value);
}

char *run_result_describe(const RunResult *result, const char *first)
{
    GString *text = g_string_new(NULL);
    for (int pass = 0; pass < 3; pass++) /* first the metric `first`, then the other scores, then the loss */
        for (guint i = 0; i < result->metrics->len; i++) {
            const Metric *metric = &g_array_index(result->metrics, Metric, i);
            bool is_first = g_strcmp0(metric->name, first) == 0, loss = strcmp(metric->name, "loss") == 0;
            if (pass == (is_first ? 0
                         : loss   ? 2
                                  : 1) &&
                (is_first || (metric_is_main(metric->name) && strcmp(metric->name, "perplexity") != 0)))
                describe_metric(text, metric);
        }
    return g_string_free(text, false);
}
