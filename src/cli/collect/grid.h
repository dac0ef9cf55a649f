/* grid.h: the metrics of runs by rows (settings or folders) and columns (metrics of tasks), with mean and standard
 * deviation over the runs of a cell. */
#pragma once

#include "cli/collect/runs.h"

typedef struct GridColumn {
    const char *task;   /* of the runs; "" means none */
    const char *metric; /* "accuracy", "squad.f1", "loss" */
    bool alone;         /* all columns are of one task, which headings leave out */
} GridColumn;

typedef struct GridCell {
    int n;            /* runs that have the metric; 0 means none */
    double mean, std; /* std: sample standard deviation, with n - 1; 0 where n is 1 */
    GArray *values;   /* double */
} GridCell;

typedef struct Grid {
    GPtrArray *rows; /* const char *, names; borrowed from the runs */
    GArray *columns; /* GridColumn; borrowed from the runs */
    GridCell *cells; /* (rows, columns) */
    int *n_runs;     /* (rows) */
} Grid;

/* An error where --scores names a metric that no run has. */
bool grid_make(Grid *grid, const GPtrArray *runs, const char *scores, GError **error);
void grid_clear(Grid *grid);
static inline const GridCell *grid_cell(const Grid *grid, guint row, guint column)
{
    return &grid->cells[row * grid->columns->len + column];
}
