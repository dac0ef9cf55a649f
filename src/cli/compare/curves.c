#include "cli/compare/curves.h"

#include "base/text.h"

#include <math.h>

enum { LEFT = 60, TOP = 30, WIDTH = 600, HEIGHT = 270, LEGEND_LINE = 18, X_TICKS = 4, Y_TICKS = 6 };

static const char *const colours[] = { "#2060c0", "#c03020", "#208040", "#a06000", "#7030a0", "#008080" };

typedef struct Axes {
    bool by_tokens;
    double right;     /* largest x; the axis starts at 0 */
    double low, high; /* range of the losses */
    double tick;      /* distance of the lines of the grid, as a loss: 1, 2 or 5 times a power of ten */
} Axes;

static double x_of(const Axes *axes, const HistoryPoint *point)
{
    return LEFT + WIDTH * history_x(point, axes->by_tokens) / axes->right;
}

static double y_of(const Axes *axes, double loss)
{
    return TOP + HEIGHT * (axes->high - loss) / (axes->high - axes->low);
}

static double tokens_a_step(const History *history)
{
    if (history->train->len == 0)
        return NAN;
    const HistoryPoint *last = &g_array_index(history->train, HistoryPoint, history->train->len - 1);
    return last->tokens / (double)last->step;
}

/* Whether x is tokens: all runs have counts of tokens, and read unequally many a step. */
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

static void widen(Axes *axes, const GArray *points)
{
    for (guint i = 0; i < points->len; i++) {
        const HistoryPoint *point = &g_array_index(points, HistoryPoint, i);
        axes->low = fmin(axes->low, point->loss);
        axes->high = fmax(axes->high, point->loss);
        axes->right = fmax(axes->right, history_x(point, axes->by_tokens));
    }
}

static Axes axes_of(const Curve *curves, int n, Baseline baseline)
{
    Axes axes = { .by_tokens = compares_by_tokens(curves, n), .right = 1, .low = INFINITY, .high = -INFINITY };
    for (int i = 0; i < n; i++) {
        widen(&axes, curves[i].history->train);
        widen(&axes, curves[i].history->valid);
    }
    if (baseline.name) {
        axes.low = fmin(axes.low, baseline.loss);
        axes.high = fmax(axes.high, baseline.loss);
    }
    double rough = fmax(axes.high - axes.low, 1e-3) / Y_TICKS, power = pow(10, floor(log10(rough)));
    axes.tick = rough / power <= 1   ? power
                : rough / power <= 2 ? 2 * power
                : rough / power <= 5 ? 5 * power
                                     : 10 * power;
    axes.low = axes.tick * floor(axes.low / axes.tick);
    axes.high = axes.tick * ceil(fmax(axes.high, axes.low + axes.tick) / axes.tick);
    return axes;
}

static void write_text(FILE *out, double x, double y, const char *anchor, const char *text)
{
    g_autofree char *escaped = g_markup_escape_text(text, -1);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, escaped);
}

static void write_axes(FILE *out, const Axes *axes)
{
    for (int i = 0; axes->low + i * axes->tick < axes->high + axes->tick / 2; i++) {
        double loss = axes->low + i * axes->tick, y = y_of(axes, loss);
        g_autofree char *label = g_strdup_printf("%.*f", axes->tick < 1 ? (int)ceil(-log10(axes->tick)) : 0, loss);
        fprintf(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", LEFT, LEFT + WIDTH, y, y);
        write_text(out, LEFT - 8, y + 4, "end", label);
    }
    for (int i = 0; i <= X_TICKS; i++) {
        g_autofree char *label = text_count(axes->right * i / X_TICKS);
        write_text(out, LEFT + WIDTH * (double)i / X_TICKS, TOP + HEIGHT + 18, "middle", label);
    }
    write_text(out, LEFT + WIDTH / 2.0, TOP + HEIGHT + 38, "middle", axes->by_tokens ? "input tokens" : "step");
    write_text(out, LEFT, TOP - 12, "start", "loss, nats per target token (line: training, points: held out)");
}

static void write_curve(FILE *out, const Axes *axes, const History *history, const char *colour)
{
    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"", colour);
    for (guint i = 0; i < history->train->len; i++) {
        const HistoryPoint *point = &g_array_index(history->train, HistoryPoint, i);
        fprintf(out, "%.1f,%.1f ", x_of(axes, point), y_of(axes, point->loss));
    }
    fputs("\"/>\n", out);
    for (guint i = 0; i < history->valid->len; i++) {
        const HistoryPoint *point = &g_array_index(history->valid, HistoryPoint, i);
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"><title>step %lld: %.4f</title></circle>\n",
                x_of(axes, point), y_of(axes, point->loss), colour, (long long)point->step, point->loss);
    }
}

static void write_legend(FILE *out, const Curve *curve, const char *colour, int line)
{
    int y = TOP + HEIGHT + 60 + line * LEGEND_LINE;
    const GArray *train = curve->history->train, *valid = curve->history->valid;
    g_autoptr(GString) text = g_string_new(curve->name);
    if (train->len > 0)
        g_string_append_printf(text, ": training %.3f", g_array_index(train, HistoryPoint, train->len - 1).loss);
    if (valid->len > 0)
        g_string_append_printf(text, "%s held out %.3f", train->len > 0 ? "," : ":",
                               g_array_index(valid, HistoryPoint, valid->len - 1).loss);
    fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"4\" fill=\"%s\"/>\n", LEFT, y - 6, colour);
    write_text(out, LEFT + 20, y, "start", text->str);
}

static void write_baseline(FILE *out, const Axes *axes, Baseline baseline)
{
    double y = y_of(axes, baseline.loss);
    g_autofree char *text = g_strdup_printf("%s %.2f", baseline.name, baseline.loss);
    fprintf(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#888\" stroke-dasharray=\"6 4\"/>\n", LEFT,
            LEFT + WIDTH, y, y);
    write_text(out, LEFT + WIDTH - 4, y - 6, "end", text);
}

void curves_write(FILE *out, const Curve *curves, int n, Baseline baseline)
{
    const Axes axes = axes_of(curves, n, baseline);
    int height = TOP + HEIGHT + 60 + n * LEGEND_LINE;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 700 %d\" font-family=\"sans-serif\" "
            "font-size=\"12\">\n<rect width=\"700\" height=\"%d\" fill=\"white\"/>\n",
            height, height);
    write_axes(out, &axes);
    if (baseline.name)
        write_baseline(out, &axes, baseline);
    for (int i = 0; i < n; i++) {
        const char *colour = colours[i % (int)G_N_ELEMENTS(colours)];
        write_curve(out, &axes, curves[i].history, colour);
        write_legend(out, &curves[i], colour, i);
    }
    fputs("</svg>\n", out);
}
