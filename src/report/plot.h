/* plot.h: draws curves as an SVG: axes with round numbers, lines with a band of their range, points, vertical marks. */
#pragma once

#include <glib.h>
#include <stdbool.h>

enum { PLOT_WIDTH = 720, PLOT_HEIGHT = 250, PLOT_LEFT = 58, PLOT_RIGHT = 14, PLOT_TOP = 10, PLOT_BOTTOM = 30 }; /* px */
enum { PLOT_COLOURS = 7, PLOT_TICKS = 16 }; /* colours that colour-blind people can tell apart (plot_style) */

/* Several values in a row, such as the losses of consecutive steps, drawn as one point. */
typedef struct PlotPoint {
    double x, y;      /* x: of the last value; y: the mean of the values */
    double low, high; /* the lowest and the highest of them */
    bool gap;         /* no line joins the point with the one before */
} PlotPoint;

typedef struct PlotLine {
    const GArray *points; /* PlotPoint, in rising order of x */
    int colour;           /* 0 or more; colours repeat after PLOT_COLOURS, and numbers from there on are dashed */
    bool dotted;          /* a circle at each point, joined by a thin line: for a few values, such as held-out losses */
} PlotLine;

/* Vertical marks of one kind: `kind` is the CSS class of their path. */
typedef struct PlotMarks {
    const char *kind;
    const GArray *x; /* double */
    bool is_short;   /* a tick at the bottom */
} PlotMarks;

typedef struct PlotAxis {
    double low, high;         /* range of values */
    bool log;                 /* logarithmic */
    double ticks[PLOT_TICKS]; /* rising, within the range */
    int n;
} PlotAxis;

typedef struct Plot {
    const char *title, *x_name;
    bool alone; /* the picture is a file of its own, in light colours, and shows its title */
    PlotAxis x, y;
    const PlotLine *lines;
    int n_lines;
    const PlotMarks *marks;
    int n_marks;
    const char *level_name; /* a horizontal dashed line with a name; NULL means none */
    double level;
} Plot;

/* The axis from `low` to `high` with about `most` ticks (2 … PLOT_TICKS - 2). Linear: the distance of ticks is 1, 2 or
 * 5 times a power of ten. Logarithmic, if low > 0: ticks at 1, 2 and 5 times each power of ten, or at powers of ten, or
 * at some of them. widens: the axis is extended outwards to round numbers. Values that are not finite or not in order
 * give the axis from 0 to 1. */
PlotAxis plot_axis(double low, double high, int most, bool log, bool widens);
/* The text of a tick, "0.5", "12k", "2e-5". g_free. */
char *plot_label(const PlotAxis *axis, int tick);
/* Position of a value in the picture, in px. */
double plot_x(const PlotAxis *axis, double x);
double plot_y(const PlotAxis *axis, double y);
/* The lowest and the highest value of the lines: starts from *low and *high, which may be INFINITY and -INFINITY. With
 * only_positive, values that are not above 0 do not count. */
void plot_range(double *low, double *high, const PlotLine *lines, int n, bool only_positive);
/* Whether one of the points (PlotPoint) stands for several values. */
bool plot_has_band(const GArray *points);
/* Appends the <svg>. extra_height: px below the picture, which the caller draws into before it closes the element.
 * Kinds of lines are classes of plot_style, and colours are its CSS variables var(--p0), …; in a picture that stands
 * alone, plot_close replaces these by the light colours. The title is read out by screen readers, and drawn if the
 * picture stands alone. */
void plot_open(GString *svg, const Plot *plot, int extra_height);
void plot_close(GString *svg, const Plot *plot);
/* Appends a text at (x, y), in px. anchor: SVG's text-anchor, "start", "middle" or "end". */
void plot_text(GString *svg, double x, double y, const char *anchor, const char *text);
/* The CSS of the classes that pictures use, with light and dark colours, of which the reader's system chooses. */
extern const char plot_style[];
