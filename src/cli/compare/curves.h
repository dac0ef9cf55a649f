/* curves.h: plots the losses of runs. */
#pragma once

#include "train/history.h"

#include <stdio.h>

typedef struct Curve {
    const char *name;
    const History *history;
} Curve;

/* A named loss, drawn as a horizontal line. */
typedef struct Baseline {
    char *name; /* NULL means no line */
    double loss;
} Baseline;

/* An SVG: for each run the training loss as a line and the held-out losses as points, over input tokens, or over steps
 * where all runs read equally many tokens per step. */
void curves_write(FILE *out, const Curve *curves, int n, Baseline baseline);
