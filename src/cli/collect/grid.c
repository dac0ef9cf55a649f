#include "cli/collect/grid.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

/* ---- rows and columns ---- */

static bool has_column(const Grid *grid, const char *task, const char *metric)
{
    for (guint i = 0; i < grid->columns->len; i++) {
        const GridColumn *column = &g_array_index(grid->columns, GridColumn, i);
        if (strcmp(column->task, task) == 0 && strcmp(column->metric, metric) == 0)
            return true;
    }
    return false;
}

static bool has_scores(const CollectedRun *run)
{
    for (guint i = 0; i < run->result.metrics->len; i++) {
        const char *name = g_array_index(run->result.metrics, Metric, i).name;
        if (strcmp(name, "loss") != 0 && strcmp(name, "perplexity") != 0)
            return true;
    }
    return false;
}

/* Whether a metric has a column without --scores: main scores do; loss and perplexity do if the run has no score. */
static bool is_shown(const CollectedRun *run, const char *metric)
{
    bool loss = strcmp(metric, "loss") == 0 || strcmp(metric, "perplexity") == 0;
    return loss ? !has_scores(run) : metric_is_main(metric);
}

static void add_column(Grid *grid, const CollectedRun *run, const char *metric)
{
    const GridColumn column = { .task = run->task, .metric = metric };
    if (!has_column(grid, run->task, metric))
        g_array_append_val(grid->columns, column);
}

/* Adds the columns of a run's metrics, in the order of `wanted` (--scores) or else of the task's scores. */
static void add_columns(Grid *grid, const CollectedRun *run, char **wanted)
{
    const GArray *metrics = run->result.metrics;
    for (char **name = wanted; *name; name++)
        for (guint i = 0; i < metrics->len; i++)
            if (strcmp(g_array_index(metrics, Metric, i).name, *name) == 0)
                add_column(grid, run, g_array_index(metrics, Metric, i).name);
    for (guint i = 0; !*wanted && i < metrics->len; i++)
        if (is_shown(run, g_array_index(metrics, Metric, i).name))
            add_column(grid, run, g_array_index(metrics, Metric, i).name);
}

static void add_run_row(Grid *grid, const CollectedRun *run)
{
    const GridRow row = { .name = run->row };
    for (guint i = 0; i < grid->rows->len; i++)
        if (strcmp(g_array_index(grid->rows, GridRow, i).name, run->row) == 0)
            return;
    g_array_append_val(grid->rows, row);
}

/* Moves columns of the same task next to each other, keeping the order of its metrics. */
static void order_columns(Grid *grid)
{
    GArray *columns = g_array_new(false, false, sizeof(GridColumn));
    bool alone = true;
    for (guint i = 0; i < grid->columns->len; i++) {
        const GridColumn *first = &g_array_index(grid->columns, GridColumn, i);
        alone = alone && strcmp(first->task, g_array_index(grid->columns, GridColumn, 0).task) == 0;
        bool done = false;
        for (guint j = 0; j < i && !done; j++)
            done = strcmp(g_array_index(grid->columns, GridColumn, j).task, first->task) == 0;
        for (guint j = i; j < grid->columns->len && !done; j++)
            if (strcmp(g_array_index(grid->columns, GridColumn, j).task, first->task) == 0)
                g_array_append_val(columns, g_array_index(grid->columns, GridColumn, j));
    }
    g_array_unref(grid->columns);
    grid->columns = columns;
    for (guint i = 0; i < columns->len; i++)
        g_array_index(columns, GridColumn, i).alone = alone;
}

/* ---- cells ---- */

static void fill_cell(GridCell *cell, const GPtrArray *runs, const char *row, const GridColumn *column)
{
    cell->values = g_array_new(false, false, sizeof(double));
    double sum = 0, squares = 0;
    for (guint i = 0; i < runs->len; i++) {
        const CollectedRun *run = runs->pdata[i];
        double value = strcmp(run->row, row) == 0 && strcmp(run->task, column->task) == 0
                           ? metric_value(run->result.metrics, column->metric)
                           : (double)NAN;
        if (!isnan(value))
            g_array_append_val(cell->values, value);
    }
    cell->n = (int)cell->values->len;
    for (int i = 0; i < cell->n; i++)
        sum += g_array_index(cell->values, double, i);
    cell->mean = sum / cell->n;
    for (int i = 0; i < cell->n; i++)
        squares += pow(g_array_index(cell->values, double, i) - cell->mean, 2);
    cell->std = cell->n > 1 ? sqrt(squares / (cell->n - 1)) : (double)NAN;
}

/* Counts the runs of a row. */
static void count_runs(GridRow *row, const GPtrArray *runs)
{
    g_autoptr(GHashTable) counts = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < runs->len; i++) {
        const CollectedRun *run = runs->pdata[i];
        if (strcmp(run->row, row->name) != 0)
            continue;
        const int n = GPOINTER_TO_INT(g_hash_table_lookup(counts, run->task)) + 1;
        g_hash_table_insert(counts, run->task, GINT_TO_POINTER(n));
        row->n = MAX(row->n, n);
        row->n_failed += run->failed;
        row->n_untrained += run->untrained;
    }
}

static bool check_wanted(const Grid *grid, char **wanted, GError **error)
{
    for (char **name = wanted; *name; name++) {
        bool found = false;
        for (guint i = 0; i < grid->columns->len && !found; i++)
            found = strcmp(g_array_index(grid->columns, GridColumn, i).metric, *name) == 0;
        if (!found)
            return fail_user(error, "--scores: no run has a metric %s; the names are those of metrics.jsonl", *name);
    }
    return true;
}

bool grid_make(Grid *grid, const GPtrArray *runs, const char *scores, GError **error)
{
    g_auto(GStrv) wanted = text_list(scores);
    *grid = (Grid){ .rows = g_array_new(false, false, sizeof(GridRow)),
                    .columns = g_array_new(false, false, sizeof(GridColumn)) };
    for (guint i = 0; i < runs->len; i++) {
        add_run_row(grid, runs->pdata[i]);
        add_columns(grid, runs->pdata[i], wanted);
    }
    if (!check_wanted(grid, wanted, error))
        return false;
    order_columns(grid);
    grid->cells = g_new0(GridCell, (gsize)grid->rows->len * grid->columns->len);
    for (guint r = 0; r < grid->rows->len; r++) {
        GridRow *row = &g_array_index(grid->rows, GridRow, r);
        count_runs(row, runs);
        for (guint c = 0; c < grid->columns->len; c++)
            fill_cell(&grid->cells[r * grid->columns->len + c], runs, row->name,
                      &g_array_index(grid->columns, GridColumn, c));
    }
    return true;
}

void grid_clear(Grid *grid)
{
    for (guint i = 0; grid->cells && i < grid->rows->len * grid->columns->len; i++)
        g_array_unref(grid->cells[i].values);
    g_free(grid->cells);
    g_array_unref(grid->rows);
    g_array_unref(grid->columns);
}
