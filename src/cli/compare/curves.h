/* curves.h: plots the losses of runs as an SVG. */
#pragma once

#include "run/history.h"

#include <stdio.h>

typedef struct Curve {
    const char *name;
    const History *history;
} Curve;

/* A reference loss, drawn as a horizontal line. */
typedef struct Baseline {
    char *name; /* NULL means no line */
    double loss;
} Baseline;

/* Writes an SVG with, for each run, the training loss as a line and the held-out losses as points. The x axis is input
 * tokens; it is steps if all runs read about equally many tokens per step, or if one has no count of tokens. */
void curves_write(FILE *out, const Curve *curves, int n, Baseline baseline);
