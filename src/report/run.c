#include "report/run.h"

#include "base/file.h"
#include "base/json_line.h"
#include "run/history.h"
#include "run/metric_lines.h"

#include <math.h>
#include <string.h>

#define SET_NAME 80 /* characters of the name of a set or a metric */

#define KIND_NAMES(kind, ...) { __VA_ARGS__ },
const ReportKindNames report_kinds[] = { REPORT_KINDS(KIND_NAMES) };

/* Names of the traces in a training record. */
static const char *const trace_keys[] = {
    [TRACE_LOSS] = "loss",         [TRACE_LR] = "lr",
    [TRACE_NORM] = "grad_norm",    [TRACE_SPEED] = "tokens_per_s",
    [TRACE_SCALE] = "loss_scale",  [TRACE_MEMORY] = "memory",
    [TRACE_ACCURACY] = "accuracy", [TRACE_MFU] = "mfu",
    [TRACE_FLOPS] = "flops_per_s", [TRACE_PEAK] = "peak_flops_per_s",
    [TRACE_FILL] = "fill",
};

char *report_clean(const char *text, glong most)
{
    GString *line = g_string_new(NULL);
    glong n = 0;
    for (const char *p = text; *p; p = g_utf8_next_char(p), n++) {
        const gunichar c = g_utf8_get_char(p);
        if (n == most) {
            g_string_append(line, "…");
            break;
        }
        g_string_append_unichar(line, c != '\n' && (g_unichar_iscntrl(c) || c == 0xfffe || c == 0xffff) ? ' ' : c);
    }
    return g_string_free(line, FALSE);
}

/* ---- training records ---- */

/* Samples read up to a record, without those that train.skip_samples left out. */
static double samples_trained(const json_t *record)
{
    const double skipped = metric_number(record, "skipped_samples");
    return metric_number(record, "samples") - (skipped > 0 ? skipped : 0);
}

static void take_train(ReportRun *run, json_t *record, int64_t step)
{
    const double tokens = metric_number(record, "tokens"), wall = metric_number(record, "wall_s"),
                 memory = metric_number(record, "memory");
    for (int i = 0; i < TRACE_COUNT; i++)
        series_add(&run->traces[i], step, tokens, wall, metric_number(record, trace_keys[i]));
    run->step = MAX(run->step, step);
    run->loss_missing = isnan(metric_number(record, trace_keys[TRACE_LOSS]));
    run->tokens = fmax(run->tokens, tokens);
    run->samples_trained = fmax(run->samples_trained, samples_trained(record));
    run->memory = fmax(run->memory, memory);
}

/* ---- evaluations ---- */

static void free_metric(void *memory)
{
    ReportMetric *metric = memory;
    series_clear(&metric->series);
    g_free(metric->set);
    g_free(metric->name);
    g_free(metric);
}

ReportMetric *report_metric(const ReportRun *run, const char *set, const char *name, bool score)
{
    for (guint i = 0; i < run->metrics->len; i++) {
        ReportMetric *metric = run->metrics->pdata[i];
        if (metric->score == score && strcmp(metric->name, name) == 0 && strcmp(metric->set, set) == 0)
            return metric;
    }
    return NULL;
}

/* Adds the metric unless the run has it; NULL if the run has too many of them. */
static ReportMetric *own_metric(ReportRun *run, const char *set, const char *name, bool score)
{
    g_autofree char *own_set = report_clean(set, SET_NAME), *own_name = report_clean(name, SET_NAME);
    ReportMetric *metric = report_metric(run, own_set, own_name, score);
    if (metric || run->metrics->len == REPORT_METRICS)
        return metric;
    metric = g_new0(ReportMetric, 1);
    *metric = (ReportMetric){ .set = g_steal_pointer(&own_set),
                              .name = g_steal_pointer(&own_name),
                              .score = score,
                              .last_step = -1,
                              .best_step = -1,
                              .best = NAN };
    series_init(&metric->series);
    g_ptr_array_add(run->metrics, metric);
    return metric;
}

static void take_metric(ReportRun *run, const json_t *record, const char *set, int64_t step, const char *name,
                        double value, bool score)
{
    ReportMetric *metric = isfinite(value) ? own_metric(run, set, name, score) : NULL;
    const bool falls = !score && strcmp(name, "accuracy") != 0;
    if (metric == NULL)
        return;
    series_add(&metric->series, step, run->tokens, metric_number(record, "wall_s"), value);
    metric->last = value;
    metric->last_step = step;
    if (isnan(metric->best) || (falls ? value < metric->best : value > metric->best)) {
        metric->best = value;
        metric->best_step = step;
    }
}

static void take_valid(ReportRun *run, const MetricRecord *record)
{
    static const char *const names[] = { "loss", "perplexity", "accuracy" };
    for (size_t i = 0; !record->replaced && i < G_N_ELEMENTS(names); i++)
        take_metric(run, record->json, record->set, record->step, names[i], metric_number(record->json, names[i]),
                    false);
}

static void take_scores(ReportRun *run, json_t *record, int64_t step)
{
    const char *name;
    json_t *value;
    json_object_foreach(record, name, value) if (metric_is_score(name) && json_is_number(value))
        take_metric(run, record, json_text(record, "name"), step, name, json_number_value(value), true);
}

/* ---- events ---- */

static void free_event(void *memory)
{
    ReportEvent *event = memory;
    if (event == NULL)
        return;
    g_free(event->what);
    g_free(event);
}

static ReportKind report_kind(const char *what)
{
    static const struct {
        const char *start;
        ReportKind kind;
    } starts[] = {
        { "starts ", KIND_START },     { "goes on ", KIND_START }, { "stopped ", KIND_STOP },
        { "ended ", KIND_END },        { "no better ", KIND_END }, { "rolled back ", KIND_BACK },
        { "skipped: ", KIND_SKIPPED },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(starts); i++)
        if (g_str_has_prefix(what, starts[i].start))
            return starts[i].kind;
    return strstr(what, " is a spike above ") ? KIND_SPIKE : KIND_OTHER;
}

/* Removes the oldest events of a kind except REPORT_EVENTS of them. */
static void drop_oldest(ReportRun *run, ReportKind kind, guint n)
{
    guint kept = 0;
    for (guint i = 0; i < run->events->len; i++) {
        ReportEvent *event = run->events->pdata[i];
        if (event->kind == kind && n > REPORT_EVENTS) {
            n--;
            free_event(event);
        } else {
            run->events->pdata[kept++] = event;
        }
    }
    memset(run->events->pdata + kept, 0, (run->events->len - kept) * sizeof(gpointer));
    g_ptr_array_set_size(run->events, (gint)kept);
}

static void add_report_event(ReportRun *run, const json_t *record, int64_t step, ReportKind kind, const char *what)
{
    const double wall = metric_number(record, "wall_s");
    ReportEvent *event = g_new(ReportEvent, 1);
    *event = (ReportEvent){ kind, step, wall, metric_number(record, "time"), report_clean(what, 400) };
    g_ptr_array_add(run->events, event);
    series_add(&run->marks[kind], step, run->tokens, wall, 1);
    if (++run->counts[kind] % REPORT_EVENTS == 0 && run->counts[kind] > REPORT_EVENTS)
        drop_oldest(run, kind, 2 * REPORT_EVENTS);
}

static void take_save(ReportRun *run, json_t *record, int64_t step)
{
    const double seconds = metric_number(record, "seconds");
    g_autofree char *what = isfinite(seconds) ? g_strdup_printf("saved in %.1f s", seconds) : g_strdup("saved");
    add_report_event(run, record, step, KIND_SAVE, what);
}

static void take_event(ReportRun *run, json_t *record, int64_t step)
{
    const char *what = json_text(record, "what");
    json_t *start = json_object_get(record, "start");
    if (json_is_object(start)) {
        json_decref(run->start);
        run->start = json_incref(start);
    }
    const ReportKind kind = json_is_true(json_object_get(record, "failed")) ? KIND_ERROR : report_kind(what);
    run->killed += run->open && (kind == KIND_START || g_str_has_prefix(what, METRIC_START_FAILED));
    run->open = kind == KIND_START || (run->open && kind != KIND_STOP && kind != KIND_END && kind != KIND_ERROR);
    add_report_event(run, record, step, kind, what);
}

/* ---- samples ---- */

static void free_sample(void *memory)
{
    ReportSample *sample = memory;
    g_free(sample->name);
    g_free(sample->text);
    g_free(sample);
}

static void take_sample(ReportRun *run, json_t *record, int64_t step)
{
    if (run->samples->len && ((const ReportSample *)run->samples->pdata[0])->step != step)
        g_ptr_array_set_size(run->samples, 0);
    if (run->samples->len == REPORT_SAMPLES)
        return;
    ReportSample *sample = g_new(ReportSample, 1);
    *sample = (ReportSample){ step, report_clean(json_text(record, "name"), 80),
                              report_clean(json_text(record, "text"), REPORT_TEXT) };
    g_ptr_array_add(run->samples, sample);
}

/* ---- the run ---- */

static void (*const takers[])(ReportRun *run, json_t *record, int64_t step) = {
    [METRIC_TRAIN] = take_train, [METRIC_SCORE] = take_scores, [METRIC_SAMPLE] = take_sample,
    [METRIC_SAVE] = take_save,   [METRIC_EVENT] = take_event,
};

static bool read_metrics(ReportRun *run, GError **error)
{
    MetricReader reader;
    const MetricRecord *record = &reader.record;
    if (!metric_reader_open(&reader, run->dir, error))
        return false;
    while (metric_reader_next(&reader)) {
        if (record->step < 0)
            continue;
        run->wall_s = fmax(run->wall_s, metric_number(record->json, "wall_s"));
        if (record->kind == METRIC_VALID)
            take_valid(run, record);
        else if (record->kind != METRIC_OTHER)
            takers[record->kind](run, record->json, record->step);
    }
    run->skipped_lines = reader.skipped;
    run->first_set = report_clean(reader.first_set ? reader.first_set : "", SET_NAME);
    history_tell_replaced(run->dir, reader.replaced);
    return metric_reader_close(&reader, error);
}

/* The path as people write it: without slashes at its end. */
static char *report_name(const char *dir)
{
    g_autofree char *shown = g_filename_display_name(dir);
    size_t n = strlen(shown);
    while (n > 1 && shown[n - 1] == '/')
        shown[--n] = '\0';
    return report_clean(shown, 300);
}

bool report_run_read(ReportRun *run, const char *dir, GError **error)
{
    *run = (ReportRun){ .dir = g_strdup(dir),
                        .name = report_name(dir),
                        .metrics = g_ptr_array_new_with_free_func(free_metric),
                        .events = g_ptr_array_new_with_free_func(free_event),
                        .samples = g_ptr_array_new_with_free_func(free_sample),
                        .step = -1,
                        .memory = NAN };
    for (int i = 0; i < TRACE_COUNT; i++)
        series_init(&run->traces[i]);
    for (int i = 0; i < KIND_COUNT; i++)
        series_init(&run->marks[i]);
    run_status_read(&run->status, dir, RUN_SILENT_S, RUN_STALLED_S);
    return !io_exists(dir, "metrics.jsonl") || read_metrics(run, error);
}

void report_run_clear(ReportRun *run)
{
    for (int i = 0; i < TRACE_COUNT; i++)
        series_clear(&run->traces[i]);
    for (int i = 0; i < KIND_COUNT; i++)
        series_clear(&run->marks[i]);
    g_clear_pointer(&run->metrics, g_ptr_array_unref);
    g_clear_pointer(&run->events, g_ptr_array_unref);
    g_clear_pointer(&run->samples, g_ptr_array_unref);
    g_clear_pointer(&run->start, json_decref);
    if (run->dir)
        run_status_clear(&run->status);
    g_clear_pointer(&run->first_set, g_free);
    g_clear_pointer(&run->dir, g_free);
    g_clear_pointer(&run->name, g_free);
}
