/* grid.h: the table of `loam collect`: one row per combination of options or per folder, one column per task and
 * metric. Each cell has mean and standard deviation over its runs. */
#pragma once

#include "cli/collect/collect.h"

typedef struct GridColumn {
    const char *task;   /* name of the runs' task; "" means none */
    const char *metric; /* "accuracy", "squad.f1", "loss" */
    bool alone;         /* all columns have the same task, so headings omit it */
} GridColumn;

typedef struct GridRow {
    const char *name;          /* borrowed from the runs */
    int n;                     /* number of runs that have the same task, for the task with the most of them */
    int n_failed, n_untrained; /* number of such runs (CollectedRun) */
} GridRow;

typedef struct GridCell {
    int n;            /* runs that have the metric; 0 means none */
    double mean, std; /* std: sample standard deviation, divided by n - 1; NaN if n is 1 */
    GArray *values;   /* double: the metric of each run */
} GridCell;

typedef struct Grid {
    GArray *rows;    /* GridRow */
    GArray *columns; /* GridColumn; borrowed from the runs */
    GridCell *cells; /* (rows, columns) */
} Grid;

/* Fills *grid. Fails if `scores` names a metric that no run has. */
bool grid_make(Grid *grid, const GPtrArray *runs, const char *scores, GError **error);
void grid_clear(Grid *grid);
static inline const GridCell *grid_cell(const Grid *grid, guint row, guint column)
{
    return &grid->cells[row * grid->columns->len + column];
}
