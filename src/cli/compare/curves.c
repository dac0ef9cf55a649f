#include "cli/compare/curves.h"

#include "report/plot.h"
#include "report/series.h"

#include <math.h>

enum { LEGEND_LINE = 18, X_TICKS = 7, Y_TICKS = 6 };

static double tokens_a_step(const History *history)
{
    if (history->train->len == 0)
        return NAN;
    const HistoryPoint *last = &g_array_index(history->train, HistoryPoint, history->train->len - 1);
    return last->tokens / (double)last->step;
}

/* Whether the x axis is tokens instead of steps: all runs have token counts, and they read different numbers of tokens
 * per step. */
static bool compares_by_tokens(const Curve *curves, int n)
{
    double first = tokens_a_step(curves[0].history);
    bool same = true;
    for (int i = 0; i < n; i++) {
        double ratio = tokens_a_step(curves[i].history) / first;
        if (isnan(ratio))
            return false;
        same = same && ratio > 0.98 && ratio < 1.02;
    }
    return !same;
}

/* The losses as PlotPoint, at most SERIES_POINTS of them. */
static GArray *points_of(const GArray *losses, SeriesAxis axis)
{
    Series series;
    series_init(&series);
    for (guint i = 0; i < losses->len; i++) {
        const HistoryPoint *point = &g_array_index(losses, HistoryPoint, i);
        series_add(&series, point->step, point->tokens, NAN, point->loss);
    }
    GArray *points = series_plot(&series, axis, 1);
    series_clear(&series);
    return points;
}

static double last_x(const GArray *points)
{
    return points->len ? g_array_index(points, PlotPoint, points->len - 1).x : 0;
}

static void add_legend(GString *svg, const Curve *curve, int colour)
{
    const int y = PLOT_HEIGHT + 12 + colour * LEGEND_LINE;
    const GArray *train = curve->history->train, *valid = curve->history->valid;
    g_autoptr(GString) text = g_string_new(curve->name);
    if (train->len > 0)
        g_string_append_printf(text, ": training %.3f", g_array_index(train, HistoryPoint, train->len - 1).loss);
    if (valid->len > 0)
        g_string_append_printf(text, "%s held out %.3f", train->len > 0 ? "," : ":",
                               g_array_index(valid, HistoryPoint, valid->len - 1).loss);
    g_string_append_printf(svg, "<path class=\"line%s\" stroke=\"var(--p%d)\" d=\"M%d %dh16\"/>",
                           colour >= PLOT_COLOURS ? " dash" : "", colour % PLOT_COLOURS, PLOT_LEFT, y - 4);
    plot_text(svg, PLOT_LEFT + 24, y, "start", text->str);
}

static void draw_page(FILE *out, const Curve *curves, int n, Baseline baseline, const PlotLine *lines, SeriesAxis axis)
{
    g_autoptr(GString) svg = g_string_new(NULL);
    double right = 1, low = baseline.name ? baseline.loss : (double)INFINITY,
           high = baseline.name ? low : (double)-INFINITY;
    plot_range(&low, &high, lines, 2 * n, false);
    for (int i = 0; i < 2 * n; i++)
        right = fmax(right, last_x(lines[i].points));
    g_autofree char *level = baseline.name ? g_strdup_printf("%s %.2f", baseline.name, baseline.loss) : NULL;
    const Plot plot = { .alone = true,
                        .title = "loss, nats per target token (line: training, points: held out)",
                        .x_name = series_axis_name(axis),
                        .x = plot_axis(0, right, X_TICKS, false, false),
                        .y = plot_axis(low, high, Y_TICKS, false, true),
                        .lines = lines,
                        .n_lines = 2 * n,
                        .level_name = level,
                        .level = baseline.loss };
    plot_open(svg, &plot, n * LEGEND_LINE + 6);
    for (int i = 0; i < n; i++)
        add_legend(svg, &curves[i], i);
    plot_close(svg, &plot);
    fputs(svg->str, out);
}

void curves_write(FILE *out, const Curve *curves, int n, Baseline baseline)
{
    const SeriesAxis axis = compares_by_tokens(curves, n) ? AXIS_TOKENS : AXIS_STEPS;
    g_autofree PlotLine *lines = g_new0(PlotLine, 2 * n);
    for (int i = 0; i < n; i++) {
        lines[2 * i] = (PlotLine){ points_of(curves[i].history->train, axis), i, false };
        lines[2 * i + 1] = (PlotLine){ points_of(curves[i].history->valid, axis), i, true };
    }
    draw_page(out, curves, n, baseline, lines, axis);
    for (int i = 0; i < 2 * n; i++)
        g_array_unref((GArray *)(uintptr_t)lines[i].points);
}
