/* curves.h: losses of runs as a picture. */
#pragma once

#include "train/history.h"

#include <stdio.h>

typedef struct Curve {
    const char *name;
    const History *history;
} Curve;

/* A horizontal line with a name: a loss to be measured against. */
typedef struct Baseline {
    char *name; /* NULL: none */
    double loss;
} Baseline;

/* An SVG: for each run the training loss as a line and the held-out losses as points, over input tokens, or over steps
 * where every run has as many tokens a step. */
void curves_write(FILE *out, const Curve *curves, int n, Baseline baseline);
