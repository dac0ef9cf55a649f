/* labels: any-processor */
#include "report/plot.h"

#include <math.h>
#include <string.h>

static char *labels_of(const PlotAxis *axis)
{
    GString *text = g_string_new(NULL);
    for (int i = 0; i < axis->n; i++) {
        g_autofree char *label = plot_label(axis, i);
        g_string_append_printf(text, "%s%s", i ? " " : "", label);
    }
    return g_string_free(text, FALSE);
}

static void ticks_are_round_numbers(void)
{
    static const struct {
        double low, high;
        bool log, widens;
        const char *labels;
    } cases[] = {
        { 0, 1, false, true, "0 0.2 0.4 0.6 0.8 1.0" },
        { 2.31, 10.9, false, true, "2 4 6 8 10 12" },
        { 0, 300, false, false, "0 50 100 150 200 250 300" },
        { 0, 1000000, false, false, "0 200k 400k 600k 800k 1M" },
        { 0, 3e-4, false, true, "0 5e-5 1e-4 1.5e-4 2e-4 2.5e-4 3e-4" },
        { -1.5, 1.5, false, true, "-1.5 -1.0 -0.5 0 0.5 1.0 1.5" },
        { 4.12, 4.13, false, true, "4.120 4.122 4.124 4.126 4.128 4.130" },
        { 0.7, 45, true, true, "0.5 1 2 5 10 20 50" },
        { 0.07, 45, true, true, "0.1 1 10" },
        { 1, 1e6, true, true, "1 10 100 1k 10k 100k 1M" },
        { 5, 5, false, true, "4.4 4.6 4.8 5.0 5.2 5.4 5.6" },
        { 0, 0, false, true, "0 0.1 0.2 0.3 0.4 0.5" },
        { NAN, 3, false, true, "0 0.2 0.4 0.6 0.8 1.0" },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
        const PlotAxis axis = plot_axis(cases[i].low, cases[i].high, 7, cases[i].log, cases[i].widens);
        g_autofree char *labels = labels_of(&axis);
        g_test_message("%g to %g", cases[i].low, cases[i].high);
        g_assert_cmpstr(labels, ==, cases[i].labels);
    }
}

/* Ranges of all sizes: there are some ticks and not too many, they rise, and they and all values lie within the axis.
 */
static void every_range_has_ticks(void)
{
    for (int round = 0; round < 20000; round++) {
        const double size = pow(10, g_test_rand_double_range(-30, 30)), a = g_test_rand_double_range(-1, 1) * size;
        const double b = a + g_test_rand_double() * size * pow(10, g_test_rand_double_range(-7, 0));
        const int most = g_test_rand_int_range(2, PLOT_TICKS - 1);
        const bool log = round % 2, widens = round % 3 > 0;
        const double low = log ? fabs(a) : a, high = log ? fabs(a) * pow(10, g_test_rand_double_range(0, 40)) : b;
        const PlotAxis axis = plot_axis(low, high, most, log, widens);
        g_test_message("%.17g to %.17g, at most %d%s", low, high, most, log ? ", log" : "");
        g_assert_cmpint(axis.n, <=, most + 2);
        g_assert_true(axis.n > (widens ? 1 : -1));
        g_assert_true(axis.low < axis.high);
        const double slack = log ? 1e-3 : 1e-6; /* a fraction of a px */
        g_assert_true(axis.low <= low + slack * fabs(low) && axis.high >= high - slack * fabs(high));
        for (int i = 0; i < axis.n; i++) {
            const double y = plot_y(&axis, axis.ticks[i]);
            g_assert_true(i == 0 || axis.ticks[i] > axis.ticks[i - 1]);
            g_assert_true(isfinite(y) && y >= PLOT_TOP && y <= PLOT_HEIGHT - PLOT_BOTTOM);
        }
    }
}

static void places_are_proportional(void)
{
    const PlotAxis linear = plot_axis(0, 10, 6, false, true), log = plot_axis(1, 100, 6, true, true);
    const double top = PLOT_TOP, bottom = PLOT_HEIGHT - PLOT_BOTTOM, left = PLOT_LEFT, right = PLOT_WIDTH - PLOT_RIGHT;
    g_assert_cmpfloat(plot_y(&linear, 0), ==, bottom);
    g_assert_cmpfloat(plot_y(&linear, 10), ==, top);
    g_assert_cmpfloat(plot_x(&linear, 5), ==, (left + right) / 2);
    g_assert_cmpfloat_with_epsilon(plot_y(&log, 10), (top + bottom) / 2, 1e-9);
    g_assert_cmpfloat(plot_y(&log, 0), ==, bottom); /* what a logarithm does not have lies at the edge */
    g_assert_cmpfloat(plot_y(&linear, 1e30), ==, top);
}

static void a_picture_has_bands_and_marks(void)
{
    g_autoptr(GArray) points = g_array_new(FALSE, FALSE, sizeof(PlotPoint)),
                      x = g_array_new(FALSE, FALSE, sizeof(double));
    const PlotPoint point[] = {
        { 0, 1, 1, 1, false }, { 5, 2, 1, 9, false }, { 8, 2, 2, 2, true }, { 10, 3, 3, 3, false }
    };
    const double at[] = { 5, 5.001, 8, 99 };
    g_array_append_vals(points, point, G_N_ELEMENTS(point));
    g_array_append_vals(x, at, G_N_ELEMENTS(at));
    const PlotLine line = { points, 8, false };
    const PlotMarks marks = { "spike", x, false };
    const Plot plot = { .title = "a <b>",
                        .x_name = "step",
                        .x = plot_axis(0, 10, 6, false, false),
                        .y = plot_axis(0, 9, 6, false, true),
                        .lines = &line,
                        .n_lines = 1,
                        .marks = &marks,
                        .n_marks = 1,
                        .level_name = "\"level\"",
                        .level = 4 };
    g_autoptr(GString) svg = g_string_new(NULL);
    plot_open(svg, &plot, 0);
    plot_close(svg, &plot);
    g_assert_nonnull(strstr(svg->str, "<title>a &lt;b&gt;</title>"));
    g_assert_nonnull(strstr(svg->str, "&quot;level&quot;</text>"));
    g_assert_nonnull(strstr(svg->str, "class=\"band\" fill=\"var(--p1)\""));
    g_assert_nonnull(strstr(svg->str, "class=\"line dash\" stroke=\"var(--p1)\" d=\"M58.0 "));
    g_autofree char *apart = g_strdup_printf("M%.1f %.1fL", plot_x(&plot.x, 8), plot_y(&plot.y, 2)); /* after a gap */
    g_assert_nonnull(strstr(svg->str, apart));
    g_autofree char *path = g_strdup_printf("class=\"mark spike\" d=\"M%.0f %dv210M", plot_x(&plot.x, 5), PLOT_TOP);
    g_assert_nonnull(strstr(svg->str, path)); /* two within a px are one, and one beyond the axis is none */
    g_auto(GStrv) marked = g_strsplit(strstr(svg->str, "class=\"mark spike\""), "v210", -1);
    g_assert_cmpuint(g_strv_length(marked), ==, 1 + 2);
    g_assert_null(strstr(svg->str, "nan"));
    g_assert_true(g_str_has_suffix(svg->str, "</svg>\n"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plot/ticks_are_round_numbers", ticks_are_round_numbers);
    g_test_add_func("/plot/every_range_has_ticks", every_range_has_ticks);
    g_test_add_func("/plot/places_are_proportional", places_are_proportional);
    g_test_add_func("/plot/a_picture_has_bands_and_marks", a_picture_has_bands_and_marks);
    return g_test_run();
}
