#include "run/result.h"

#include "run/metric_lines.h"

#include <math.h>
#include <string.h>

/* Adds a metric, or replaces it: if a run was killed and resumed, the same evaluation may be logged twice, and the
 * later one counts. */
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
    *result = (RunResult){ .step = -1, .metrics = metric_list_new() };
    if (!metric_reader_open(&reader, dir, error))
        return false;
    while (metric_reader_next(&reader)) {
        const MetricRecord *record = &reader.record;
        const bool of_step = record->step >= 0 && (step < 0 || record->step == step);
        if (of_step && (record->kind == METRIC_SCORE || record->first_set))
            take_result_record(result, record);
    }
    return metric_reader_close(&reader, error);
}

void run_result_clear(RunResult *result)
{
    g_clear_pointer(&result->metrics, g_array_unref);
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
