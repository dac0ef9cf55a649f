#include "run/result.h"

#include "run/metric_lines.h"

#include <math.h>
#include <string.h>

typedef struct Reader {
    RunResult *result;
    int64_t wanted; /* step of the evaluation to read; -1 means the last one */
    char *set;      /* name of the first held-out set */
} Reader;

/* Adds a metric, or replaces it: if a run was killed and resumed, the same evaluation may be logged twice, and the
 * later one counts. */
static void add(GArray *metrics, const char *name, const json_t *json)
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

/* Whether a key of a record of scores is a metric's name. */
static bool is_metric(const char *key)
{
    static const char *const others[] = { "kind", "step", "name", "examples", "seconds", "time", "wall_s" };
    for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
        if (strcmp(key, others[i]) == 0)
            return false;
    return true;
}

static void take_record(json_t *record, void *context)
{
    Reader *reader = context;
    RunResult *result = reader->result;
    const char *kind = json_string_value(json_object_get(record, "kind")), *key;
    const json_t *step = json_object_get(record, "step");
    bool valid = g_strcmp0(kind, "valid") == 0, score = g_strcmp0(kind, "score") == 0;
    json_t *value;
    if (!json_is_integer(step) || (!valid && !score))
        return;
    const char *name = json_string_value(json_object_get(record, "name"));
    if (valid && reader->set == NULL)
        reader->set = g_strdup(name ? name : "");
    if (valid && strcmp(reader->set, name ? name : "") != 0)
        return;
    if (reader->wanted >= 0 && json_integer_value(step) != reader->wanted)
        return;
    if (json_integer_value(step) != result->step)
        g_array_set_size(result->metrics, 0);
    result->step = json_integer_value(step);
    json_object_foreach(record, key, value)
    {
        g_autofree char *of_set = score && name ? g_strdup_printf("%s.%s", name, key) : NULL;
        if (score ? is_metric(key) : strcmp(key, "loss") == 0 || strcmp(key, "perplexity") == 0)
            add(result->metrics, of_set ? of_set : key, value);
    }
}

bool run_result_read(RunResult *result, const char *dir, int64_t step, GError **error)
{
    Reader reader = { .result = result, .wanted = step };
    *result = (RunResult){ .step = -1, .metrics = metric_list_new() };
    const bool read = metric_lines_read(dir, take_record, &reader, NULL, error);
    g_free(reader.set);
    return read;
}

void run_result_clear(RunResult *result)
{
    g_clear_pointer(&result->metrics, g_array_unref);
}

static void describe(GString *text, const Metric *metric)
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
                describe(text, metric);
        }
    return g_string_free(text, false);
}
