#include "report/plot.h"

#include "base/text.h"

#include <math.h>

#define HEAD         24 /* px above a picture that is a file, for its title */
#define INNER_WIDTH  (PLOT_WIDTH - PLOT_LEFT - PLOT_RIGHT)
#define INNER_HEIGHT (PLOT_HEIGHT - PLOT_TOP - PLOT_BOTTOM)

/* Colours after Okabe and Ito (2008): three of theirs, three darkened for a white page, grey in place of black, and no
 * yellow; lighter ones on a dark page. */
#define COLOURS(X)                                                                                                     \
    X(p0, "#0072b2", "#4aa8e0")                                                                                        \
    X(p1, "#d55e00", "#ff8a3d")                                                                                        \
    X(p2, "#009e73", "#2fd0a0")                                                                                        \
    X(p3, "#b8538f", "#e58bc0")                                                                                        \
    X(p4, "#c98500", "#f2b53c")                                                                                        \
    X(p5, "#2f9fd8", "#8fd0f5")                                                                                        \
    X(p6, "#5b5f66", "#b9bec6")                                                                                        \
    X(grid, "#e3e6ea", "#2b3037")                                                                                      \
    X(axis, "#8a9099", "#6d747e")                                                                                      \
    X(ink, "#4a4f57", "#aab1bb")                                                                                       \
    X(spike, "#c4161c", "#ff6b6b")                                                                                     \
    X(stop, "#8a5a00", "#d9a441")                                                                                      \
    X(start, "#00795a", "#39c79a")                                                                                     \
    X(back, "#7a3fa0", "#c094e4")
#define AS_LIGHT(name, light, dark) "--" #name ":" light ";"
#define AS_DARK(name, light, dark)  "--" #name ":" dark ";"
#define CLASSES                                                                                                        \
    ".grid{stroke:var(--grid);fill:none}.axis{stroke:var(--axis);fill:none}\n"                                         \
    ".tick{fill:var(--ink);font-size:11.5px}\n"                                                                        \
    ".line{fill:none;stroke-width:1.8;stroke-linejoin:round}.thin{fill:none;stroke-width:1.1;stroke-opacity:.65}\n"    \
    ".band{stroke:none;fill-opacity:.22}.dot{stroke:none}.dash{stroke-dasharray:7 3}\n"                                \
    ".level{stroke:var(--axis);fill:none;stroke-dasharray:6 4}\n"                                                      \
    ".mark{fill:none;stroke-width:1.2}.save{stroke:var(--axis);stroke-width:1}\n"                                      \
    ".error{stroke:var(--spike);stroke-width:2}.end{stroke:var(--start)}\n"                                            \
    ".spike,.skipped{stroke:var(--spike);stroke-opacity:.75}.skipped{stroke-opacity:.4}.stop{stroke:var(--stop);"      \
    "stroke-dasharray:4 3}\n"                                                                                          \
    ".start{stroke:var(--start);stroke-dasharray:4 3}.back{stroke:var(--back);stroke-dasharray:4 3}\n"
const char plot_style[] = ":root{" COLOURS(AS_LIGHT) "}\n@media screen and (prefers-color-scheme:dark){:root{" COLOURS(
    AS_DARK) "}}\n" CLASSES;

/* Programs that draw SVG outside of browsers know no CSS variables: puts the light colours in their place. */
static void name_colours(GString *svg)
{
#define AS_PAIR(name, light, dark) { "var(--" #name ")", light },
    static const char *const colours[][2] = { COLOURS(AS_PAIR) };
    for (size_t i = 0; i < G_N_ELEMENTS(colours); i++)
        g_string_replace(svg, colours[i][0], colours[i][1], 0);
}

/* ---- axes ---- */

static void add_tick(PlotAxis *axis, double value)
{
    if (axis->n < PLOT_TICKS)
        axis->ticks[axis->n++] = value;
}

static double round_step(double rough)
{
    const double power = pow(10, floor(log10(rough)));
    const double rest = rough / power;
    return (rest <= 1.0001 ? 1 : rest <= 2.0001 ? 2 : rest <= 5.0001 ? 5 : 10) * power;
}

static void set_linear(PlotAxis *axis, int most, bool widens)
{
    const double step = round_step((axis->high - axis->low) / (most - 1));
    double first = ceil(axis->low / step - 1e-9), last = floor(axis->high / step + 1e-9);
    if (widens) {
        first = floor(axis->low / step + 1e-9);
        last = ceil(axis->high / step - 1e-9);
        axis->low = first * step;
        axis->high = last * step;
    }
    for (double i = first; i <= last && i < first + PLOT_TICKS; i++)
        add_tick(axis, i == 0 ? 0 : i * step);
}

/* The largest of 1, 2, 5 times a power of ten that is not above the value; up: the smallest that is not below. */
static double round_log(double value, bool up)
{
    const double power = pow(10, floor(log10(value) + 1e-9));
    const double rest = value / power;
    if (up)
        return (rest <= 1.0001 ? 1 : rest <= 2.0001 ? 2 : rest <= 5.0001 ? 5 : 10) * power;
    return (rest >= 4.9999 ? 5 : rest >= 1.9999 ? 2 : 1) * power;
}

/* Ticks at the first n_parts of 1, 2 and 5 times powers of ten; `every` is the step between powers, 1 means each. */
static void fill_log(PlotAxis *axis, int n_parts, double every)
{
    static const double parts[] = { 1, 2, 5 };
    const double last = ceil(log10(axis->high));
    axis->n = 0;
    for (double power = floor(log10(axis->low)); power <= last; power += every)
        for (int i = 0; i < n_parts; i++) {
            const double value = parts[i] * pow(10, power);
            if (value >= axis->low * 0.9999 && value <= axis->high * 1.0001)
                add_tick(axis, value);
        }
}

static void set_log(PlotAxis *axis, int most, bool widens)
{
    const double decades = ceil(log10(axis->high)) - floor(log10(axis->low));
    if (widens) {
        axis->low = round_log(axis->low, false);
        axis->high = round_log(axis->high, true);
    }
    if (3 * decades < PLOT_TICKS)
        fill_log(axis, 3, 1);
    if (axis->n > 0 && axis->n <= most)
        return;
    fill_log(axis, 1, fmax(1, ceil(decades / (most - 1))));
    if (axis->n > 1 || !widens)
        return;
    axis->low = pow(10, floor(log10(axis->low) + 1e-9));
    axis->high = pow(10, ceil(log10(axis->high) - 1e-9));
    fill_log(axis, 1, fmax(1, ceil(round(log10(axis->high / axis->low)) / (most - 1))));
}

PlotAxis plot_axis(double low, double high, int most, bool log, bool widens)
{
    const bool usable = isfinite(low) && isfinite(high) && low <= high && fmax(fabs(low), fabs(high)) < 1e300;
    PlotAxis axis = { .low = usable ? low : 0, .high = usable ? high : 1, .log = log && usable && low > 1e-300 };
    const double least = fmax(fabs(axis.high), fabs(axis.low)) * 1e-6;
    if (axis.high - axis.low <= least) { /* one value: a range around it */
        const double around = axis.high == 0 ? 0.5 : fabs(axis.high) * 0.1;
        axis.low -= axis.low >= 0 && axis.low < around ? axis.low : around;
        axis.high += around;
    }
    if (axis.log)
        set_log(&axis, most, widens);
    else
        set_linear(&axis, most, widens);
    return axis;
}

char *plot_label(const PlotAxis *axis, int tick)
{
    const double value = axis->ticks[tick], size = fabs(value);
    const double step = axis->log || axis->n < 2 ? size : axis->ticks[1] - axis->ticks[0];
    if (value == 0)
        return g_strdup("0");
    if (size >= 1e15 || size < 9e-4 || (step < 9e-4 && size < 0.1)) {
        char text[32];
        const int exponent = (int)floor(log10(size) + 1e-9);
        g_snprintf(text, sizeof text, "%.3g", value / pow(10, exponent));
        return g_strdup_printf("%se%d", text, exponent);
    }
    if (size >= 1000 && step >= size * 0.0009)
        return text_count(value);
    return g_strdup_printf("%.*f", step < 1 ? (int)ceil(-log10(step) - 1e-9) : 0, value);
}

static double share_on_axis(const PlotAxis *axis, double value)
{
    const double share = axis->log ? log(fmax(value, axis->low * 1e-3) / axis->low) / log(axis->high / axis->low)
                                   : (value - axis->low) / (axis->high - axis->low);
    return fmin(fmax(share, 0), 1);
}

double plot_x(const PlotAxis *axis, double x)
{
    return PLOT_LEFT + INNER_WIDTH * share_on_axis(axis, x);
}

double plot_y(const PlotAxis *axis, double y)
{
    return PLOT_TOP + INNER_HEIGHT * (1 - share_on_axis(axis, y));
}

void plot_range(double *low, double *high, const PlotLine *lines, int n, bool only_positive)
{
    for (int i = 0; i < n; i++)
        for (guint j = 0; j < lines[i].points->len; j++) {
            const PlotPoint *point = &g_array_index(lines[i].points, PlotPoint, j);
            if (!only_positive || point->low > 0)
                *low = fmin(*low, point->low);
            if (!only_positive || point->high > 0)
                *high = fmax(*high, point->high);
        }
}

/* ---- SVG ---- */

void plot_text(GString *svg, double x, double y, const char *anchor, const char *text)
{
    g_autofree char *escaped = g_markup_escape_text(text, -1);
    g_string_append_printf(svg, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>", x, y, anchor,
                           escaped);
}

static void add_axes(GString *svg, const Plot *plot)
{
    const double bottom = PLOT_TOP + INNER_HEIGHT, right = PLOT_LEFT + INNER_WIDTH;
    g_string_append(svg, "<path class=\"grid\" d=\"");
    for (int i = 0; i < plot->y.n; i++)
        g_string_append_printf(svg, "M%d %.1fH%.0f", PLOT_LEFT, plot_y(&plot->y, plot->y.ticks[i]), right);
    g_string_append_printf(svg, "\"/><path class=\"axis\" d=\"M%d %.0fH%.0f", PLOT_LEFT, bottom, right);
    for (int i = 0; i < plot->x.n; i++)
        g_string_append_printf(svg, "M%.1f %.0fv4", plot_x(&plot->x, plot->x.ticks[i]), bottom);
    g_string_append(svg, "\"/>\n");
    for (int i = 0; i < plot->y.n; i++) {
        g_autofree char *label = plot_label(&plot->y, i);
        plot_text(svg, PLOT_LEFT - 7, plot_y(&plot->y, plot->y.ticks[i]) + 4, "end", label);
    }
    for (int i = 0; i < plot->x.n; i++) {
        g_autofree char *label = plot_label(&plot->x, i);
        const double x = plot_x(&plot->x, plot->x.ticks[i]);
        if (x < right - 90)
            plot_text(svg, x, bottom + 17, "middle", label);
    }
    plot_text(svg, right, bottom + 17, "end", plot->x_name);
    g_string_append_c(svg, '\n');
}

bool plot_has_band(const GArray *points)
{
    for (guint i = 0; i < points->len; i++)
        if (g_array_index(points, PlotPoint, i).low < g_array_index(points, PlotPoint, i).high)
            return true;
    return false;
}

/* The end of the points from `first` on that a line joins. */
static guint joined_end(const GArray *points, guint first)
{
    guint end = first + 1;
    while (end < points->len && !g_array_index(points, PlotPoint, end).gap)
        end++;
    return end;
}

static void add_band(GString *svg, const Plot *plot, const PlotLine *line)
{
    g_string_append_printf(svg, "<path class=\"band\" fill=\"var(--p%d)\" d=\"", line->colour % PLOT_COLOURS);
    for (guint first = 0, end; first < line->points->len; first = end) {
        end = joined_end(line->points, first);
        const guint n = end - first;
        for (guint i = 0; i < 2 * n; i++) {
            const PlotPoint *point = &g_array_index(line->points, PlotPoint, first + (i < n ? i : 2 * n - 1 - i));
            g_string_append_printf(svg, "%s%.1f %.1f", i == 0 ? "M" : "L", plot_x(&plot->x, point->x),
                                   plot_y(&plot->y, i < n ? point->high : point->low));
        }
        g_string_append_c(svg, 'Z');
    }
    g_string_append(svg, "\"/>\n");
}

static void add_dots(GString *svg, const Plot *plot, const PlotLine *line)
{
    const double radius = line->points->len > 150 ? 1.6 : line->points->len > 40 ? 2.4 : 3.4;
    g_string_append_printf(svg, "<g class=\"dot\" fill=\"var(--p%d)\">", line->colour % PLOT_COLOURS);
    for (guint i = 0; i < line->points->len; i++) {
        const PlotPoint *point = &g_array_index(line->points, PlotPoint, i);
        g_string_append_printf(svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>", plot_x(&plot->x, point->x),
                               plot_y(&plot->y, point->y), radius);
    }
    g_string_append(svg, "</g>\n");
}

static void draw_line(GString *svg, const Plot *plot, const PlotLine *line)
{
    if (line->points->len == 0)
        return;
    if (plot_has_band(line->points))
        add_band(svg, plot, line);
    g_string_append_printf(svg, "<path class=\"%s%s\" stroke=\"var(--p%d)\" d=\"", line->dotted ? "thin" : "line",
                           line->colour >= PLOT_COLOURS ? " dash" : "", line->colour % PLOT_COLOURS);
    for (guint i = 0; i < line->points->len; i++) {
        const PlotPoint *point = &g_array_index(line->points, PlotPoint, i);
        g_string_append_printf(svg, "%s%.1f %.1f", i == 0 || point->gap ? "M" : "L", plot_x(&plot->x, point->x),
                               plot_y(&plot->y, point->y));
    }
    g_string_append(svg, "\"/>\n");
    if (line->dotted || line->points->len == 1)
        add_dots(svg, plot, line);
}

/* One path for all marks of a kind, at most one mark per px. */
static void add_marks(GString *svg, const Plot *plot, const PlotMarks *marks)
{
    const bool is_short = marks->is_short;
    double before = -1;
    if (marks->x->len == 0)
        return;
    g_string_append_printf(svg, "<path class=\"mark %s\" d=\"", marks->kind);
    for (guint i = 0; i < marks->x->len; i++) {
        const double value = g_array_index(marks->x, double, i), x = round(plot_x(&plot->x, value));
        if (x == before || value < plot->x.low || value > plot->x.high)
            continue;
        before = x;
        g_string_append_printf(svg, "M%.0f %dv%d", x, is_short ? PLOT_HEIGHT - PLOT_BOTTOM - 5 : PLOT_TOP,
                               is_short ? 5 : INNER_HEIGHT);
    }
    g_string_append(svg, "\"/>\n");
}

static void add_level(GString *svg, const Plot *plot)
{
    const double y = plot_y(&plot->y, plot->level);
    g_string_append_printf(svg, "<path class=\"level\" d=\"M%d %.1fH%d\"/>", PLOT_LEFT, y, PLOT_WIDTH - PLOT_RIGHT);
    plot_text(svg, PLOT_WIDTH - PLOT_RIGHT - 4, y - 6, "end", plot->level_name);
}

void plot_open(GString *svg, const Plot *plot, int extra_height)
{
    g_autofree char *title = g_markup_escape_text(plot->title, -1);
    const int head = plot->alone ? HEAD : 0;
    g_string_append_printf(svg,
                           "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 %d %d %d\" role=\"img\" "
                           "font-family=\"system-ui,sans-serif\" font-size=\"12\"><title>%s</title>\n",
                           -head, PLOT_WIDTH, PLOT_HEIGHT + extra_height + head, title);
    if (plot->alone) {
        g_string_append_printf(
            svg, "<style>\n" CLASSES "</style>\n<rect y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", -head,
            PLOT_WIDTH, PLOT_HEIGHT + extra_height + head);
        plot_text(svg, PLOT_LEFT, -6, "start", plot->title);
    }
    add_axes(svg, plot);
    for (int i = 0; i < plot->n_marks; i++)
        add_marks(svg, plot, &plot->marks[i]);
    for (int i = 0; i < plot->n_lines; i++)
        draw_line(svg, plot, &plot->lines[i]);
    if (plot->level_name)
        add_level(svg, plot);
}

void plot_close(GString *svg, const Plot *plot)
{
    g_string_append(svg, "</svg>\n");
    if (plot->alone)
        name_colours(svg);
}
