/* labels: any-processor */
#include "report/series.h"

#include <math.h>

static const SeriesPoint *point_at(const Series *series, guint i)
{
    return &g_array_index(series->points, SeriesPoint, i);
}

static void few_values_are_kept_as_they_are(void)
{
    Series series;
    series_init(&series);
    for (int i = 0; i < SERIES_POINTS; i++)
        series_add(&series, 10 * i, 100 * i, i, 5 - i);
    g_assert_cmpuint(series.points->len, ==, SERIES_POINTS);
    g_assert_cmpint(point_at(&series, 7)->step, ==, 70);
    g_assert_cmpfloat(point_at(&series, 7)->tokens, ==, 700);
    g_assert_cmpfloat(point_at(&series, 7)->sum, ==, -2);
    series_clear(&series);
}

/* A million steps: the number of points is bounded, no spike and no value is lost, and steps rise. */
static void many_values_keep_mean_and_extremes(void)
{
    enum { N = 1000000, SPIKE = 543210, DIP = 777 };
    Series series;
    double sum = 0, low = INFINITY, high = -INFINITY, mean = 0;
    int64_t n = 0;
    series_init(&series);
    for (int i = 1; i <= N; i++) {
        const double value = i == SPIKE ? 1000 : i == DIP ? -1000 : sin(i);
        series_add(&series, i, i, NAN, value);
        sum += value;
    }
    g_assert_cmpuint(series.points->len, <=, SERIES_POINTS);
    g_assert_cmpuint(series.points->len, >=, SERIES_POINTS / 2);
    for (guint i = 0; i < series.points->len; i++) {
        const SeriesPoint *point = point_at(&series, i);
        low = fmin(low, point->low);
        high = fmax(high, point->high);
        mean += point->sum;
        n += point->n;
        g_assert_true(i == 0 || point->step > point[-1].step);
        g_assert_true(point->high < 1000 || (point->step >= SPIKE && point->step < SPIKE + series.width));
        g_assert_true(point->low <= point->sum / (double)point->n && point->sum / (double)point->n <= point->high);
    }
    g_assert_cmpint(n, ==, N);
    g_assert_cmpfloat(low, ==, -1000);
    g_assert_cmpfloat(high, ==, 1000);
    g_assert_cmpfloat_with_epsilon(mean, sum, 1e-6);
    series_clear(&series);
}

static void what_is_no_value_is_ignored(void)
{
    Series series;
    series_init(&series);
    series_add(&series, 5, 0, 0, 1);
    series_add(&series, 5, 0, 0, 2);
    series_add(&series, 4, 0, 0, 2);
    series_add(&series, -1, 0, 0, 2);
    series_add(&series, 6, 0, 0, NAN); /* a gap */
    series_add(&series, 7, 0, 0, INFINITY);
    series_add(&series, INT64_MAX, 0, 0, 2);
    g_assert_cmpuint(series.points->len, ==, 1);
    for (int64_t step = 6; step < INT64_MAX / 8; step *= 2) /* steps far apart */
        for (int i = 0; i < 20; i++)
            series_add(&series, step + i, 0, 0, 1);
    g_assert_cmpuint(series.points->len, <=, SERIES_POINTS);
    series_clear(&series);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/series/few_values_are_kept_as_they_are", few_values_are_kept_as_they_are);
    g_test_add_func("/series/many_values_keep_mean_and_extremes", many_values_keep_mean_and_extremes);
    g_test_add_func("/series/what_is_no_value_is_ignored", what_is_no_value_is_ignored);
    return g_test_run();
}
