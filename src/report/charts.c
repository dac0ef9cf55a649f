/* charts.c: the curves of a report: one picture for each quantity, with a line for each run. */
#include "report/sections.h"

#include "eval/task_scores.h"
#include "report/plot.h"

#include <math.h>
#include <string.h>

#define LOG_FROM     60 /* a curve whose highest value is at least this many times the lowest gets a logarithmic axis */
#define TICKS_X      7
#define TICKS_Y      6
#define SCORE_CHARTS 12
#define SETS         6 /* held-out sets of a run that are drawn */

typedef struct ChartSpec {
    const char *title, *unit, *suffix; /* suffix: unit of a single value */
    int trace;                         /* TRACE_COUNT means none */
    const char *metric;                /* metric of the held-out sets that is drawn too; NULL means none */
    double scale;                      /* factor on the values */
    bool from_zero, may_log;
    const char *missing; /* text to show if no run has such values; NULL means that the chart is then left out */
} ChartSpec;

static const ChartSpec specs[] = {
    { "Loss", "nats per target token", "", TRACE_LOSS, "loss", 1, false, true, "no training step is logged yet" },
    { "Learning rate", "", "", TRACE_LR, NULL, 1, true, false, NULL },
    { "Gradient norm", "L2, before clipping", "", TRACE_NORM, NULL, 1, false, true, NULL },
    { "Throughput", "tokens per second", " tokens/s", TRACE_SPEED, NULL, 1, true, false, NULL },
    { "Accuracy", "% of target tokens", " %", TRACE_ACCURACY, "accuracy", 100, true, false, NULL },
    { "Speed against the machine's peak", "mfu, %", " %", TRACE_MFU, NULL, 100, true, false, NULL },
    { "Loss scale", "fp16", "", TRACE_SCALE, NULL, 1, false, true, NULL },
    { "Memory", "resident", "B", TRACE_MEMORY, NULL, 1, true, false, NULL },
};

typedef struct Chart {
    const ChartSpec *spec;
    GArray *lines;    /* PlotLine */
    GPtrArray *names; /* of the lines */
} Chart;

/* ---- charts ---- */

static void chart_clear(Chart *chart)
{
    for (guint i = 0; i < chart->lines->len; i++)
        g_array_unref((GArray *)(uintptr_t)g_array_index(chart->lines, PlotLine, i).points);
    g_array_unref(chart->lines);
    g_ptr_array_unref(chart->names);
}

static Chart chart_new(const ChartSpec *spec)
{
    return (Chart){ .spec = spec,
                    .lines = g_array_new(FALSE, FALSE, sizeof(PlotLine)),
                    .names = g_ptr_array_new_with_free_func(g_free) };
}

/* Takes ownership of `name`. A line without points is left out. */
static void chart_add(Chart *chart, const Series *series, SeriesAxis axis, double scale, char *name, int colour,
                      bool dotted)
{
    GArray *points = series_plot(series, axis, scale);
    const PlotLine line = { points, colour, dotted };
    if (points->len == 0) {
        g_array_unref(points);
        g_free(name);
        return;
    }
    g_array_append_val(chart->lines, line);
    g_ptr_array_add(chart->names, name);
}

/* "training" of one run; of several, the run's name in front. */
static char *line_name(const ReportRun *run, int n, const char *what)
{
    return n == 1 ? g_strdup(what) : g_strdup_printf("%s%s%s", run->name, *what ? " " : "", what);
}

static void add_sets(Chart *chart, const ReportRun *run, int n, int colour, SeriesAxis axis)
{
    const ChartSpec *spec = chart->spec;
    int sets = 0;
    for (guint i = 0; i < run->metrics->len && sets < SETS; i++) {
        const ReportMetric *metric = run->metrics->pdata[i];
        if (metric->score || strcmp(metric->name, spec->metric) != 0)
            continue;
        const bool named = *metric->set && strcmp(metric->set, "valid") != 0;
        g_autofree char *what = named ? g_strdup_printf("held out: %s", metric->set) : g_strdup("held out");
        sets++;
        chart_add(chart, &metric->series, axis, spec->scale, line_name(run, n, what), n == 1 ? sets : colour, true);
    }
}

static void fill_chart(Chart *chart, const ReportRun *runs, int n, SeriesAxis axis)
{
    const ChartSpec *spec = chart->spec;
    for (int i = 0; i < n; i++) {
        chart_add(chart, &runs[i].traces[spec->trace], axis, spec->scale,
                  line_name(&runs[i], n, spec->metric ? "training" : ""), i, false);
        if (spec->metric)
            add_sets(chart, &runs[i], n, i, axis);
    }
}

/* ---- output ---- */

static double last_y(const PlotLine *line)
{
    return g_array_index(line->points, PlotPoint, line->points->len - 1).y;
}

/* "92.35k tokens/s", "43.84 MB": a value with its unit and, if there is one, the prefix of its size. page.js writes
 * values in the same form. */
static char *tell_value(const Chart *chart, double value)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
    const bool bytes = strcmp(chart->spec->suffix, "B") == 0;
    guint i = 0;
    if (*chart->spec->suffix == '\0')
        return g_strdup_printf(fabs(value) >= 1e5 && fabs(value) < 1e9 ? "%.0f" : "%.5g", value);
    for (; fabs(value) >= 1000 && i + 1 < G_N_ELEMENTS(prefixes); i++)
        value /= 1000;
    return g_strdup_printf("%.4g%s%s%s", value, bytes ? " " : "", prefixes[i], chart->spec->suffix);
}

static bool has_means(const Chart *chart)
{
    bool any = false;
    for (guint i = 0; i < chart->lines->len; i++)
        any |= plot_has_band(g_array_index(chart->lines, PlotLine, i).points);
    return any;
}

/* Adds the lines' names with their last values; the page's script replaces these by the values below the pointer. */
static void add_readout(GString *page, const Chart *chart)
{
    g_string_append(page, "<p class=\"readout\">");
    for (guint i = 0; i < chart->lines->len; i++) {
        const PlotLine *line = &g_array_index(chart->lines, PlotLine, i);
        g_string_append_printf(page, "<span class=\"key\"><i class=\"%s\" style=\"--c:var(--p%d)\"></i>",
                               line->dotted                   ? "dots"
                               : line->colour >= PLOT_COLOURS ? "dashes"
                                                              : "",
                               line->colour % PLOT_COLOURS);
        html_text(page, chart->names->pdata[i]);
        g_autofree char *last = tell_value(chart, last_y(line));
        g_string_append(page, " <b>");
        html_text(page, last);
        g_string_append(page, "</b></span>\n");
    }
    g_string_append(page, "</p>\n");
}

/* An array of numbers: y, low or high of the points. */
static void add_numbers(GString *data, const char *name, const GArray *points, size_t offset)
{
    g_string_append_printf(data, ",\"%s\":[", name);
    for (guint i = 0; i < points->len; i++) {
        const char *point = (const char *)&g_array_index(points, PlotPoint, i);
        double value;
        memcpy(&value, point + offset, sizeof value);
        g_string_append_printf(data, "%s%.5g", i ? "," : "", value);
    }
    g_string_append_c(data, ']');
}

/* x as differences, which are short; low and high only of a line that has merged points. */
static void add_line_data(GString *data, const PlotLine *line, SeriesAxis axis)
{
    double before = 0;
    g_string_append(data, "{\"x\":[");
    for (guint i = 0; i < line->points->len; i++) {
        const PlotPoint *point = &g_array_index(line->points, PlotPoint, i);
        const double x = axis == AXIS_HOURS ? round(point->x * 1e4) / 1e4 : round(point->x);
        g_string_append_printf(data, axis == AXIS_HOURS ? "%s%.4f" : "%s%.0f", i ? "," : "", x - before);
        before = x;
    }
    g_string_append_c(data, ']');
    add_numbers(data, "y", line->points, offsetof(PlotPoint, y));
    if (plot_has_band(line->points)) {
        add_numbers(data, "l", line->points, offsetof(PlotPoint, low));
        add_numbers(data, "h", line->points, offsetof(PlotPoint, high));
    }
    g_string_append_printf(data, ",\"c\":%d}", line->colour % PLOT_COLOURS);
}

static PlotAxis y_axis(const Chart *chart, const PlotLine *lines, int n)
{
    double low = INFINITY, high = -INFINITY, least = INFINITY, most = -INFINITY;
    plot_range(&low, &high, lines, n, false);
    plot_range(&least, &most, lines, n, true);
    const bool log = chart->spec->may_log && low > 0 && most / least >= LOG_FROM;
    return plot_axis(chart->spec->from_zero ? fmin(low, 0) : low, high, TICKS_Y, log, true);
}

typedef struct Page {
    GString *html, *data;
    PlotAxis x;
    const char *x_name;
    SeriesAxis axis;
    const PlotMarks *marks;
    int n_charts;
} Page;

static void add_chart(Page *page, const Chart *chart)
{
    const PlotLine *lines = (const PlotLine *)(void *)chart->lines->data;
    const int n = (int)chart->lines->len;
    const Plot plot = { .title = chart->spec->title,
                        .x_name = page->x_name,
                        .x = page->x,
                        .y = y_axis(chart, lines, n),
                        .lines = lines,
                        .n_lines = n,
                        .marks = page->marks,
                        .n_marks = KIND_OTHER };
    g_string_append(page->html, "<figure class=\"chart\"><figcaption><h3>");
    html_text(page->html, chart->spec->title);
    g_string_append(page->html, "</h3><span class=\"unit\">");
    html_text(page->html, chart->spec->unit);
    g_string_append_printf(page->html, "%s%s</span>", plot.y.log ? ", logarithmic" : "",
                           has_means(chart) ? "; means of several log lines, with their lowest and highest value" : "");
    add_readout(page->html, chart);
    g_string_append(page->html, "</figcaption>\n");
    plot_open(page->html, &plot, 0);
    plot_close(page->html, &plot);
    g_string_append(page->html, "</figure>\n");
    g_string_append_printf(page->data, "%s{\"y\":[%.9g,%.9g,%d],\"unit\":\"%s\",\"lines\":[",
                           page->n_charts++ ? ",\n" : "", plot.y.low, plot.y.high, plot.y.log, chart->spec->suffix);
    for (int i = 0; i < n; i++) {
        g_string_append(page->data, i ? ",\n" : "");
        add_line_data(page->data, &lines[i], page->axis);
    }
    g_string_append(page->data, "]}");
}

/* Adds a chart for each of the first SCORE_CHARTS main scores of tasks. */
static void add_score_charts(Page *page, const ReportRun *runs, int n)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (int i = 0; i < n; i++)
        for (guint j = 0; j < runs[i].metrics->len && g_hash_table_size(seen) < SCORE_CHARTS; j++) {
            const ReportMetric *metric = runs[i].metrics->pdata[j];
            char *title = g_strdup_printf("%s%s%s", metric->set, *metric->set ? " " : "", metric->name);
            if (!metric->score || !metric_is_main(metric->name) || g_hash_table_contains(seen, title)) {
                g_free(title);
                continue;
            }
            g_hash_table_add(seen, title);
            const ChartSpec spec = { .title = title, .unit = "score of the held-out examples", .suffix = "" };
            Chart chart = chart_new(&spec);
            for (int r = 0; r < n; r++) {
                const ReportMetric *own = report_metric(&runs[r], metric->set, metric->name, true);
                if (own)
                    chart_add(&chart, &own->series, page->axis, 1, line_name(&runs[r], n, ""), r, true);
            }
            if (chart.lines->len)
                add_chart(page, &chart);
            chart_clear(&chart);
        }
}

/* ---- the x axis and the marks ---- */

static double tokens_a_step(const ReportRun *run)
{
    return run->step > 0 ? run->tokens / (double)run->step : (double)NAN;
}

SeriesAxis charts_axis(const ReportRun *runs, int n)
{
    for (int i = 1; i < n; i++) {
        const double ratio = tokens_a_step(&runs[i]) / tokens_a_step(&runs[0]);
        if (ratio < 0.98 || ratio > 1.02)
            return AXIS_TOKENS;
    }
    return AXIS_STEPS;
}

static PlotAxis x_axis(const ReportRun *runs, int n, SeriesAxis axis)
{
    double most = 0;
    for (int i = 0; i < n; i++) {
        const double last = axis == AXIS_TOKENS  ? runs[i].tokens
                            : axis == AXIS_HOURS ? runs[i].wall_s / 3600
                                                 : (double)MAX(runs[i].step, 0);
        most = isfinite(last) ? fmax(most, last) : most;
    }
    const int ticks = axis == AXIS_HOURS ? TICKS_X : (int)fmin(TICKS_X, fmax(most, 1) + 1); /* whole steps */
    return plot_axis(0, most > 0 ? most : 1, ticks, false, false);
}

/* Marks of a kind of event, of all runs. */
static GArray *marks_of(const ReportRun *runs, int n, ReportKind kind, SeriesAxis axis)
{
    GArray *x = g_array_new(FALSE, FALSE, sizeof(double));
    for (int i = 0; i < n; i++) {
        g_autoptr(GArray) points = series_plot(&runs[i].marks[kind], axis, 1);
        for (guint j = 0; j < points->len; j++) {
            const double at = g_array_index(points, PlotPoint, j).x;
            if (kind != KIND_START || at > 0)
                g_array_append_val(x, at);
        }
    }
    return x;
}

void charts_write(GString *html, GString *data, const ReportRun *runs, int n, SeriesAxis axis)
{
    PlotMarks marks[KIND_OTHER];
    Page page = { html, data, x_axis(runs, n, axis), series_axis_name(axis), axis, marks, 0 };
    for (int i = 0; i < KIND_OTHER; i++)
        marks[i] = (PlotMarks){ report_kinds[i].css, marks_of(runs, n, (ReportKind)i, axis), n > 1 || i == KIND_SAVE };
    g_string_append_printf(data, "{\"box\":[%d,%d,%d,%d],\"x\":[%.9g,%.9g],\"name\":\"%s\",\"charts\":[", PLOT_LEFT,
                           PLOT_TOP, PLOT_WIDTH - PLOT_LEFT - PLOT_RIGHT, PLOT_HEIGHT - PLOT_TOP - PLOT_BOTTOM,
                           page.x.low, page.x.high, page.x_name);
    for (size_t i = 0; i < G_N_ELEMENTS(specs); i++) {
        Chart chart = chart_new(&specs[i]);
        fill_chart(&chart, runs, n, axis);
        if (chart.lines->len)
            add_chart(&page, &chart);
        else if (specs[i].missing)
            g_string_append_printf(html, "<p class=\"none\">%s: %s.</p>\n", specs[i].title, specs[i].missing);
        chart_clear(&chart);
    }
    add_score_charts(&page, runs, n);
    g_string_append(data, "]}");
    for (int i = 0; i < KIND_OTHER; i++)
        g_array_unref((GArray *)(uintptr_t)marks[i].x);
}
