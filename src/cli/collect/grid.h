/* grid.h: the table of `loam collect`: one row per combination of options or per folder, one column per task and
 * metric. Each cell has mean and standard deviation over its runs. */
#pragma once

#include "cli/collect/collect.h"

typedef struct GridColumn {
    const char *task;   /* name of the runs' task; "" means none */
    const char *metric; /* "accuracy", "squad.f1", "loss" */
    bool alone;         /* all columns have the same task, so headings omit it */
} GridColumn;

typedef struct GridCell {
    int n;            /* runs that have the metric; 0 means none */
    double mean, std; /* std: sample standard deviation, divided by n - 1; NaN if n is 1 */
    GArray *values;   /* double: the metric of each run */
} GridCell;

typedef struct Grid {
    GPtrArray *rows;             /* const char *, names; borrowed from the runs */
    GArray *columns;             /* GridColumn; borrowed from the runs */
    GridCell *cells;             /* (rows, columns) */
    int *n_failed, *n_untrained; /* (rows) number of such runs (CollectedRun) */
    int *n_runs; /* (rows) number of runs of a row that have the same task, for the task with the most of them */
} Grid;

/* Fills *grid. Fails if `scores` names a metric that no run has. */
bool grid_make(Grid *grid, const GPtrArray *runs, const char *scores, GError **error);
void grid_clear(Grid *grid);
static inline const GridCell *grid_cell(const Grid *grid, guint row, guint column)
{
    return &grid->cells[row * grid->columns->len + column];
}
