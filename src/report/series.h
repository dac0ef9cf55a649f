/* series.h: the values of one metric over the steps of a run, such as its loss, in bounded memory: if there are too
 * many values, neighbouring ones are merged into a point with their mean, lowest and highest value. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum { SERIES_POINTS = 600 }; /* largest number of points of a series; merging leaves at least half of them */

/* What the x axis of a series shows. AXIS_AUTO: steps, unless compared runs read unequally many tokens per step. */
typedef enum SeriesAxis { AXIS_AUTO, AXIS_STEPS, AXIS_TOKENS, AXIS_HOURS } SeriesAxis;

typedef struct SeriesPoint {
    int64_t step;          /* step of the last value of the point */
    double tokens, wall_s; /* input tokens and seconds of the run at that step; NAN means unknown */
    double sum, low, high; /* sum, lowest and highest of the n values */
    int64_t n;
    bool gap; /* values that are no numbers lie between this point and the one before */
} SeriesPoint;

typedef struct Series {
    GArray *points; /* SeriesPoint, in rising order of steps */
    int64_t width;  /* values whose steps have the same quotient step / width form one point; a power of 2 */
    bool gap;       /* the newest value was no number */
} Series;

void series_init(Series *series);
void series_clear(Series *series);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Series, series_clear)
/* Adds a value; one that is not finite leaves a gap. Ignores steps that are negative or not above the last one. */
void series_add(Series *series, int64_t step, double tokens, double wall_s, double value);
/* The points as PlotPoint (report/plot.h), values times `scale`; those off the axis are left out. g_array_unref. */
GArray *series_plot(const Series *series, SeriesAxis axis, double scale);
const char *series_axis_name(SeriesAxis axis); /* "step", "input tokens", "hours" */
double series_mean(const Series *series);      /* of all values; NAN means that there is none */
