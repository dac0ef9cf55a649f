#include "report/series.h"

#include "report/plot.h"

#include <math.h>

void series_init(Series *series)
{
    *series = (Series){ .points = g_array_new(FALSE, FALSE, sizeof(SeriesPoint)), .width = 1 };
}

void series_clear(Series *series)
{
    g_clear_pointer(&series->points, g_array_unref);
}

static void merge_point(SeriesPoint *into, const SeriesPoint *next)
{
    into->step = next->step;
    into->tokens = next->tokens;
    into->wall_s = next->wall_s;
    into->sum += next->sum;
    into->low = fmin(into->low, next->low);
    into->high = fmax(into->high, next->high);
    into->n += next->n;
}

/* Merges the points of each interval of `width` steps. */
static void merge_points(Series *series)
{
    GArray *points = series->points;
    guint kept = 0;
    for (guint i = 1; i < points->len; i++) {
        SeriesPoint *last = &g_array_index(points, SeriesPoint, kept);
        const SeriesPoint *next = &g_array_index(points, SeriesPoint, i);
        if (last->step / series->width == next->step / series->width)
            merge_point(last, next);
        else
            g_array_index(points, SeriesPoint, ++kept) = *next;
    }
    g_array_set_size(points, kept + 1);
}

void series_add(Series *series, int64_t step, double tokens, double wall_s, double value)
{
    GArray *points = series->points;
    SeriesPoint *last = points->len ? &g_array_index(points, SeriesPoint, points->len - 1) : NULL;
    const SeriesPoint next = { step, tokens, wall_s, value, value, value, 1, last && series->gap };
    if (step < 0 || step > INT64_MAX / 4 || (last && step <= last->step))
        return;
    series->gap = !isfinite(value);
    if (series->gap)
        return;
    if (last && last->step / series->width == step / series->width) {
        merge_point(last, &next);
        return;
    }
    g_array_append_val(points, next);
    while (points->len > SERIES_POINTS) {
        series->width *= 2;
        merge_points(series);
    }
}

double series_mean(const Series *series)
{
    double sum = 0;
    int64_t n = 0;
    for (guint i = 0; i < series->points->len; i++) {
        sum += g_array_index(series->points, SeriesPoint, i).sum;
        n += g_array_index(series->points, SeriesPoint, i).n;
    }
    return n ? sum / (double)n : (double)NAN;
}

static double x_of(const SeriesPoint *point, SeriesAxis axis)
{
    return axis == AXIS_TOKENS ? point->tokens : axis == AXIS_HOURS ? point->wall_s / 3600 : (double)point->step;
}

const char *series_axis_name(SeriesAxis axis)
{
    return axis == AXIS_TOKENS ? "input tokens" : axis == AXIS_HOURS ? "hours" : "step";
}

GArray *series_plot(const Series *series, SeriesAxis axis, double scale)
{
    GArray *points = g_array_new(FALSE, FALSE, sizeof(PlotPoint));
    double before = -INFINITY;
    for (guint i = 0; i < series->points->len; i++) {
        const SeriesPoint *from = &g_array_index(series->points, SeriesPoint, i);
        const PlotPoint point = { x_of(from, axis), scale * from->sum / (double)from->n, scale * from->low,
                                  scale * from->high, from->gap };
        if (isfinite(point.x) && isfinite(point.y) && isfinite(point.low) && isfinite(point.high) && point.x >= before)
            g_array_append_val(points, point);
        before = fmax(before, point.x);
    }
    return points;
}
