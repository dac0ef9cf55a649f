#include "report/sections.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#define EVENTS_SHOWN 60 /* largest number of events of a run that are listed */

/* ---- the page's elements ---- */

void html_text(GString *page, const char *text)
{
    g_autofree char *escaped = g_markup_escape_text(text, -1);
    g_string_append(page, escaped);
}

void html_heading(GString *page, const char *text)
{
    g_string_append(page, "<h3>");
    html_text(page, text);
    g_string_append(page, "</h3>\n");
}

/* Appends a printf text, escaped. */
static G_GNUC_PRINTF(2, 3) void html_printf(GString *page, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    g_autofree char *text = g_strdup_vprintf(format, args);
    va_end(args);
    html_text(page, text);
}

HtmlTable html_table_new(guint columns)
{
    return (HtmlTable){ g_ptr_array_new_with_free_func(g_free), columns };
}

void html_table_add(HtmlTable *table, char *cell)
{
    g_ptr_array_add(table->cells, cell ? cell : g_strdup(""));
}

static void add_table(const HtmlTable *table, GString *page, const char *class)
{
    g_string_append_printf(page, "<div class=\"wide\"><table class=\"%s\">\n", class);
    for (guint i = 0; i < table->cells->len; i++) {
        const char *tag = i < table->columns || i % table->columns == 0 ? "th" : "td";
        g_string_append(page, i == 0 ? "<thead><tr>" : i % table->columns == 0 ? "<tr>" : "");
        g_string_append_printf(page, "<%s>", tag);
        html_text(page, table->cells->pdata[i]);
        g_string_append_printf(page, "</%s>", tag);
        if (i % table->columns == table->columns - 1)
            g_string_append(page, i < table->columns ? "</tr></thead><tbody>\n" : "</tr>\n");
    }
    g_string_append(page, "</tbody></table></div>\n");
}

void html_table_end(HtmlTable *table, GString *page, const char *class)
{
    if (page)
        add_table(table, page, class);
    g_clear_pointer(&table->cells, g_ptr_array_unref);
}

/* Appends the table as a list of the first column's names with the second one's values, without the head; frees it. */
static void html_tiles_end(HtmlTable *table, GString *page)
{
    g_string_append(page, "<dl class=\"tiles\">\n");
    for (guint i = table->columns; i + 1 < table->cells->len; i += table->columns) {
        g_string_append(page, "<div><dt>");
        html_text(page, table->cells->pdata[i]);
        g_string_append(page, "</dt><dd>");
        html_text(page, table->cells->pdata[i + 1]);
        g_string_append(page, "</dd></div>\n");
    }
    g_string_append(page, "</dl>\n");
    g_clear_pointer(&table->cells, g_ptr_array_unref);
}

HtmlTable report_table(const char *first, const ReportRun *runs, int n)
{
    HtmlTable table = html_table_new(1 + (guint)n);
    html_table_add(&table, g_strdup(first));
    for (int i = 0; i < n; i++)
        html_table_add(&table, g_strdup(runs[i].name));
    return table;
}

/* ---- the run at a glance ---- */

static double last_of(const Series *series)
{
    if (series->points->len == 0)
        return NAN;
    const SeriesPoint *last = &g_array_index(series->points, SeriesPoint, series->points->len - 1);
    return last->sum / (double)last->n;
}

/* The main metric of a run: the first score of its task, else the loss of the first held-out set. */
static const ReportMetric *main_metric(const ReportRun *run, bool score)
{
    for (guint i = 0; i < run->metrics->len; i++) {
        const ReportMetric *metric = run->metrics->pdata[i];
        if (metric->score == score &&
            (score || (strcmp(metric->name, "loss") == 0 && strcmp(metric->set, run->first_set) == 0)))
            return metric;
    }
    return NULL;
}

static char *tell_metric(const ReportMetric *metric)
{
    if (metric == NULL)
        return g_strdup("–");
    const int digits = metric->score ? 2 : 4;
    g_autofree char *last = text_fixed(metric->last, digits), *best = text_fixed(metric->best, digits);
    return metric->best_step == metric->last_step
               ? g_steal_pointer(&last)
               : g_strdup_printf("%s (best %s at step %" PRId64 ")", last, best, metric->best_step);
}

/* "failed", or "failed, not trained" if no step of the run is logged or saved: evaluation of step 0 is no result. */
static char *tell_state(const ReportRun *run)
{
    const RunState state = run->status.state;
    const bool runs = state == RUN_ALIVE || state == RUN_STALLED, trained = run->step > 0 || run->status.saved > 0;
    return g_strconcat(run_state_names[state], runs || trained ? "" : ", not trained", NULL);
}

static char *tell_step(const ReportRun *run)
{
    return run->step < 0 ? g_strdup("none yet") : text_grouped(run->step);
}

static char *tell_read(const ReportRun *run)
{
    g_autofree char *tokens = text_count(run->tokens), *samples = text_count(run->samples_trained);
    return g_strdup_printf("%s tokens, %s samples", tokens, samples);
}

static char *tell_loss(const ReportRun *run)
{
    const double loss = last_of(&run->traces[TRACE_LOSS]);
    if (isnan(loss))
        return g_strdup("–");
    const Series *series = &run->traces[TRACE_LOSS];
    const int64_t step = g_array_index(series->points, SeriesPoint, series->points->len - 1).step;
    return run->loss_missing
               ? g_strdup_printf("none at step %" PRId64 " (%.4f at step %" PRId64 ")", run->step, loss, step)
               : g_strdup_printf("%.4f", loss);
}

static char *tell_valid(const ReportRun *run)
{
    return tell_metric(main_metric(run, false));
}

static char *tell_score(const ReportRun *run)
{
    const ReportMetric *metric = main_metric(run, true);
    g_autofree char *value = tell_metric(metric);
    return metric ? g_strdup_printf("%s%s%s %s", metric->set, *metric->set ? " " : "", metric->name, value)
                  : g_strdup("–");
}

static char *tell_speed(const ReportRun *run)
{
    const double speed = series_mean(&run->traces[TRACE_SPEED]), mfu = series_mean(&run->traces[TRACE_MFU]);
    g_autofree char *rate = text_count(speed);
    if (isnan(speed))
        return g_strdup("–");
    return isnan(mfu) ? g_strdup_printf("%s tokens/s", rate)
                      : g_strdup_printf("%s tokens/s, mfu %.0f %%", rate, 100 * mfu);
}

static char *tell_time(const ReportRun *run)
{
    return run->wall_s > 0 && run->wall_s < 1e12 ? text_duration(round(run->wall_s)) : g_strdup("–");
}

static char *tell_saved(const ReportRun *run)
{
    return run->status.saved < 0 ? g_strdup("none") : g_strdup_printf("step %" PRId64, run->status.saved);
}

static char *tell_troubles(const ReportRun *run)
{
    static const ReportKind kinds[] = { KIND_ERROR, KIND_STOP, KIND_BACK, KIND_SPIKE, KIND_SKIPPED };
    g_autoptr(GString) text = g_string_new(NULL);
    const int64_t killed = run->killed + (run->open && run->status.state == RUN_LOST);
    if (killed)
        g_string_append_printf(text, "killed %" PRId64 " time%s", killed, killed == 1 ? "" : "s");
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        const int64_t count = run->counts[kinds[i]];
        if (count)
            g_string_append_printf(text, "%s%" PRId64 " %s", text->len ? ", " : "", count,
                                   count == 1 ? report_kinds[kinds[i]].one : report_kinds[kinds[i]].several);
    }
    return g_strdup(text->len ? text->str : "none");
}

static const struct {
    const char *name;
    char *(*tell)(const ReportRun *run);
} summary[] = {
    { "State", tell_state },
    { "Step", tell_step },
    { "Training loss", tell_loss },
    { "Held-out loss", tell_valid },
    { "Score", tell_score },
    { "Read", tell_read },
    { "Time", tell_time },
    { "Speed", tell_speed },
    { "Newest checkpoint", tell_saved },
    { "Interruptions", tell_troubles },
};

static bool says_something(char *const *cells, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(cells[i], "–") != 0)
            return true;
    return false;
}

void section_summary(GString *page, const ReportRun *runs, int n)
{
    HtmlTable table = report_table("", runs, n);
    for (size_t i = 0; i < G_N_ELEMENTS(summary); i++) {
        g_autofree char **cells = g_new0(char *, n);
        for (int r = 0; r < n; r++)
            cells[r] = summary[i].tell(&runs[r]);
        const bool shown = says_something(cells, n);
        if (shown)
            html_table_add(&table, g_strdup(summary[i].name));
        for (int r = 0; r < n; r++)
            if (shown)
                html_table_add(&table, cells[r]);
            else
                g_free(cells[r]);
    }
    g_string_append(page, "<section id=\"summary\">\n");
    if (n == 1)
        html_tiles_end(&table, page);
    else
        html_table_end(&table, page, "runs");
    for (int i = 0; i < n; i++) {
        if (runs[i].step < 0)
            html_printf(page, "%s: no training step is logged yet.\n", runs[i].name);
        if (runs[i].skipped_lines > 0)
            html_printf(page, "%s: %" PRId64 " damaged lines of metrics.jsonl are left out.\n", runs[i].name,
                        runs[i].skipped_lines);
    }
    g_string_append(page, "</section>\n");
}

/* ---- events ---- */

static char *tell_when(double time)
{
    g_autoptr(GDateTime) date = time > 0 && time < 1e11 ? g_date_time_new_from_unix_local((gint64)time) : NULL;
    return date ? g_date_time_format(date, "%Y-%m-%d %H:%M:%S") : g_strdup("");
}

static void end_events(GString *page, HtmlTable *table, const ReportRun *run, int64_t listed, int64_t all)
{
    html_table_end(table, listed ? page : NULL, "events");
    g_string_append_printf(page, "<p class=\"none\">%s%" PRId64 " %s.", listed ? "" : "Nothing but steps and ",
                           run->counts[KIND_SAVE], run->counts[KIND_SAVE] == 1 ? "save" : "saves");
    if (all > listed)
        g_string_append_printf(page, " The newest %" PRId64 " of %" PRId64 " events, newest first.", listed, all);
    g_string_append(page, "</p>\n");
}

/* Saves are counted, and marked in the curves; the list has all other events. */
static void add_events(GString *page, const ReportRun *run, int n)
{
    static const char *const head[] = { "step", "what", "", "when" };
    HtmlTable table = html_table_new(G_N_ELEMENTS(head));
    int64_t listed = 0, all = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(head); i++)
        html_table_add(&table, g_strdup(head[i]));
    for (int kind = 0; kind < KIND_COUNT; kind++)
        all += kind == KIND_SAVE ? 0 : run->counts[kind];
    for (guint i = run->events->len; i > 0 && listed < EVENTS_SHOWN; i--) {
        const ReportEvent *event = run->events->pdata[i - 1];
        if (event->kind == KIND_SAVE)
            continue;
        listed++;
        html_table_add(&table, text_grouped(event->step));
        html_table_add(&table, g_strdup(report_kinds[event->kind].one));
        html_table_add(&table, g_strdup(event->what));
        html_table_add(&table, tell_when(event->time));
    }
    if (n > 1)
        html_heading(page, run->name);
    end_events(page, &table, run, listed, all);
}

void section_events(GString *page, const ReportRun *runs, int n)
{
    g_string_append_printf(page, "<p class=\"legend\">%s",
                           n > 1 ? "At the bottom of the curves, of all runs: " : "In the curves: ");
    for (int i = 0; i < KIND_OTHER; i++)
        g_string_append_printf(page,
                               "<span class=\"key\"><svg viewBox=\"0 0 12 14\" width=\"12\" height=\"14\"><path "
                               "class=\"mark %s\" d=\"M6 %dV14\"/></svg>%s</span>\n",
                               report_kinds[i].css, i == KIND_SAVE ? 9 : 0, report_kinds[i].one);
    g_string_append(page, "</p>\n");
    for (int i = 0; i < n; i++)
        add_events(page, &runs[i], n);
}

/* ---- scores and held-out losses ---- */

static void add_metric_row(HtmlTable *table, const ReportRun *runs, int n, const ReportMetric *metric)
{
    html_table_add(table, g_strdup_printf("%s%s%s", metric->set, *metric->set ? " " : "", metric->name));
    for (int i = 0; i < n; i++)
        html_table_add(table, tell_metric(report_metric(&runs[i], metric->set, metric->name, metric->score)));
}

/* The hash of the samples of the first set of data.valid; NULL means unknown. */
static const char *held_out_of(const ReportRun *run)
{
    return json_string_value(json_object_get(json_array_get(json_object_get(run->start, "held_out"), 0), "data"));
}

/* Says which runs have other held-out samples than the first one: one row has the losses of both. */
static void note_held_out(GString *page, const ReportRun *runs, int n)
{
    const char *first = held_out_of(&runs[0]);
    g_autoptr(GString) others = g_string_new(NULL);
    for (int i = 1; i < n; i++)
        if (first && held_out_of(&runs[i]) && strcmp(first, held_out_of(&runs[i])) != 0)
            g_string_append_printf(others, "%s%s", others->len ? ", " : "", runs[i].name);
    if (others->len == 0)
        return;
    g_string_append(page, "<p class=\"none\">Of other held-out samples than those of ");
    html_text(page, runs[0].name);
    g_string_append(page, ", and so not comparable with them, are the losses of ");
    html_text(page, others->str);
    g_string_append(page, ".</p>\n");
}

void section_scores(GString *page, const ReportRun *runs, int n)
{
    note_held_out(page, runs, n);
    HtmlTable table = report_table("last (and best)", runs, n);
    for (int i = 0; i < n; i++)
        for (guint j = 0; j < runs[i].metrics->len; j++) {
            const ReportMetric *metric = runs[i].metrics->pdata[j];
            bool seen = false;
            for (int before = 0; before < i; before++)
                seen = seen || report_metric(&runs[before], metric->set, metric->name, metric->score);
            if (!seen)
                add_metric_row(&table, runs, n, metric);
        }
    const bool any = table.cells->len > table.columns;
    if (!any)
        g_string_append(page,
                        "<p class=\"none\">No evaluation is logged: data.valid, or task.valid of a task, names the "
                        "data that is held out.</p>\n");
    html_table_end(&table, any ? page : NULL, "runs");
}
