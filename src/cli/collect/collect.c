#include "cli/collect/collect.h"

#include "base/table.h"
#include "base/text.h"
#include "cli/cli.h"

#include <math.h>
#include <string.h>

#define USAGE                                                                                                           \
    "loam collect RUN|FOLDER… [--by path|options] [--scores NAMES] [--last] [--format text|markdown|tsv|latex|json] " \
    "[--digits N]"

static const char about[] =
    "Prints one table of many runs: one row per combination of the options in which they differ (or per folder, with\n"
    "--by path), and one column per score of a task. A cell has the mean and the sample standard deviation over the "
    "runs\n"
    "of its row, such as different seeds. Metrics are those of each run's best checkpoint. Folders are searched for "
    "runs.\n"
    "\n"
    "  loam collect runs/sweep\n"
    "  loam collect runs/rte runs/cola --by path --format latex\n";

static char *by, *format, *scores;
static int digits = 2;
static gboolean last;
static const GOptionEntry entries[] = {
    CLI_VALUE("by", by, "options|path",
              "one row per combination of options (options, default), or per folder without a suffix seed-N (path)"),
    CLI_VALUE("scores", scores, "NAMES",
              "metrics to print instead of the main ones, such as accuracy,f1.precision,loss"),
    CLI_SWITCH("last", last, "print metrics of each run's last evaluation instead of its best checkpoint"),
    CLI_VALUE("format", format, "text|markdown|tsv|latex|json", "format (default text); json: one object per row"),
    CLI_VALUE("digits", digits, "N", "digits after the decimal point (default 2)"),
    { 0 },
};

/* ---- the table: one row per combination of options or per folder, one column per task and metric; each cell has mean
 * and standard deviation over its runs ---- */

typedef struct GridColumn {
    const char *task;   /* name of the runs' task; "" means none */
    const char *metric; /* "accuracy", "squad.f1", "loss" */
    bool alone;         /* all columns have the same task, so headings omit it */
} GridColumn;

typedef struct GridRow {
    const char *name; /* borrowed from the runs */
    int n;            /* number of runs that have the same task, for the task with the most of them */
    int n_failed, n_untrained, n_changed, n_former; /* number of such runs (CollectedRun) */
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

static const GridCell *grid_cell(const Grid *grid, guint row, guint column)
{
    return &grid->cells[row * grid->columns->len + column];
}

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
        row->n_changed += run->changes != NULL;
        row->n_former += run->former;
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

/* Fills *grid. Fails if `metrics` names one that no run has. */
static bool grid_make(Grid *grid, const GPtrArray *runs, const char *metrics, GError **error)
{
    g_auto(GStrv) wanted = text_list(metrics);
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

static void grid_clear(Grid *grid)
{
    for (guint i = 0; grid->cells && i < grid->rows->len * grid->columns->len; i++)
        g_array_unref(grid->cells[i].values);
    g_free(grid->cells);
    g_array_unref(grid->rows);
    g_array_unref(grid->columns);
}

/* ---- printing ---- */

static char *column_title(const GridColumn *column)
{
    return column->alone || *column->task == '\0' ? g_strdup(column->metric)
                                                  : g_strdup_printf("%s %s", column->task, column->metric);
}

/* Number of digits to print; at least four for a loss. */
static int digits_of(const GridColumn *column, const CollectOptions *options)
{
    return strcmp(column->metric, "loss") == 0 ? MAX(options->digits, 4) : options->digits;
}

/* The text of a cell, "91.20 ± 0.45", or "-" if no run has the metric. middle: the text between mean and deviation. */
static char *cell_text(const Grid *grid, guint r, guint c, const CollectOptions *options, const char *middle)
{
    const GridCell *cell = grid_cell(grid, r, c);
    const int n_digits = digits_of(&g_array_index(grid->columns, GridColumn, c), options);
    if (cell->n == 0)
        return g_strdup("-");
    g_autofree char *mean = text_fixed(cell->mean, n_digits), *std = text_fixed(cell->std, n_digits);
    return cell->n == 1 ? g_steal_pointer(&mean) : g_strconcat(mean, middle, std, NULL);
}

static void append_count(GString *text, int n, int runs, const char *what)
{
    if (n > 0)
        g_string_append_printf(text, "%s%s", text->len > 0 ? "; " : "", what);
    if (n > 0 && runs > 1)
        g_string_append_printf(text, " (%d of %d)", n, runs);
}

/* What the values of a row do not say. g_free. */
static char *row_mark(const GridRow *row)
{
    GString *text = g_string_new(NULL);
    append_count(text, row->n_failed, row->n, "failed");
    append_count(text, row->n_untrained, row->n, "step 0: no better than the start");
    append_count(text, row->n_changed, row->n, "options changed on the way");
    append_count(text, row->n_former, row->n, "of other options");
    return g_string_free(text, false);
}

static bool has_marks(const Grid *grid)
{
    bool any = false;
    for (guint r = 0; r < grid->rows->len; r++) {
        const GridRow *row = &g_array_index(grid->rows, GridRow, r);
        any |= row->n_failed + row->n_untrained + row->n_changed + row->n_former > 0;
    }
    return any;
}

/* A last column has the marks of rows, if there are any. */
static void print_grid_table(const Grid *grid, const CollectOptions *options)
{
    const bool marked = has_marks(grid);
    Table table = table_new(2 + (int)grid->columns->len + marked);
    table_add(&table, g_strdup(""));
    table_add(&table, g_strdup("runs"));
    for (guint c = 0; c < grid->columns->len; c++)
        table_add(&table, column_title(&g_array_index(grid->columns, GridColumn, c)));
    if (marked)
        table_add(&table, g_strdup(""));
    for (guint r = 0; r < grid->rows->len; r++) {
        const GridRow *row = &g_array_index(grid->rows, GridRow, r);
        table_add(&table, g_strdup(row->name));
        table_add(&table, g_strdup_printf("%d", row->n));
        for (guint c = 0; c < grid->columns->len; c++)
            table_add(&table, cell_text(grid, r, c, options, " ± "));
        if (marked)
            table_add(&table, row_mark(row));
    }
    if (options->format == COLLECT_MARKDOWN)
        table_print_markdown(&table);
    else
        table_print(&table);
}

/* Prints tab-separated values: two columns per metric, for mean and deviation; a missing value is empty. The last
 * columns are the numbers of runs that failed, of those whose best checkpoint is the model that they began with, and of
 * those whose options were changed on the way. */
static void print_tsv(const Grid *grid, const CollectOptions *options)
{
    fputs("row\truns", stdout);
    for (guint c = 0; c < grid->columns->len; c++) {
        g_autofree char *title = column_title(&g_array_index(grid->columns, GridColumn, c));
        printf("\t%s\t%s std", title, title);
    }
    fputs("\tfailed\tuntrained\tchanged", stdout);
    for (guint r = 0; r < grid->rows->len; r++) {
        const GridRow *row = &g_array_index(grid->rows, GridRow, r);
        g_autofree char *name = text_printable(row->name);
        printf("\n%s\t%d", name, row->n);
        for (guint c = 0; c < grid->columns->len; c++) {
            const GridCell *cell = grid_cell(grid, r, c);
            const int n_digits = digits_of(&g_array_index(grid->columns, GridColumn, c), options);
            g_autofree char *mean = text_fixed(cell->mean, n_digits), *std = text_fixed(cell->std, n_digits);
            printf("\t%s\t%s", cell->n > 0 ? mean : "", cell->n > 1 ? std : "");
        }
        printf("\t%d\t%d\t%d", row->n_failed, row->n_untrained, row->n_changed);
    }
    putchar('\n');
}

/* The text with LaTeX's special characters escaped. */
static void print_latex_text(const char *text)
{
    for (const char *c = text; *c; c++) {
        if (strchr("&%$#_{}", *c))
            putchar('\\');
        fputs(*c == '~' ? "\\textasciitilde{}" : *c == '^' ? "\\textasciicircum{}" : (char[]){ *c, '\0' }, stdout);
    }
}

static void print_latex(const Grid *grid, const CollectOptions *options)
{
    const bool marked = has_marks(grid);
    g_autofree char *aligned = g_strnfill(grid->columns->len, 'r');
    printf("\\begin{tabular}{l%s%s}\n\\hline\n", aligned, marked ? "l" : "");
    for (guint c = 0; c < grid->columns->len; c++) {
        g_autofree char *title = column_title(&g_array_index(grid->columns, GridColumn, c));
        fputs(" & ", stdout);
        print_latex_text(title);
    }
    puts(marked ? " & \\\\\n\\hline" : " \\\\\n\\hline");
    for (guint r = 0; r < grid->rows->len; r++) {
        const GridRow *row = &g_array_index(grid->rows, GridRow, r);
        g_autofree char *name = text_printable(row->name);
        print_latex_text(name);
        for (guint c = 0; c < grid->columns->len; c++) {
            g_autofree char *text = cell_text(grid, r, c, options, " \\pm ");
            printf(" & $%s$", text);
        }
        g_autofree char *mark = row_mark(row);
        fputs(marked ? " & " : "", stdout);
        print_latex_text(mark);
        puts(" \\\\");
    }
    puts("\\hline\n\\end{tabular}");
}

/* {"row": …, "runs": 5, "scores": [{"task": …, "name": …, "n": …, "mean": …, "std": …, "values": […]}]}. */
static bool print_grid_json(const Grid *grid, GError **error)
{
    bool good = true;
    for (guint r = 0; good && r < grid->rows->len; r++) {
        const GridRow *row = &g_array_index(grid->rows, GridRow, r);
        json_t *list = json_array();
        for (guint c = 0; c < grid->columns->len; c++) {
            const GridColumn *column = &g_array_index(grid->columns, GridColumn, c);
            const GridCell *cell = grid_cell(grid, r, c);
            json_t *values = json_array();
            for (int i = 0; i < cell->n; i++)
                json_array_append_new(values, json_real(g_array_index(cell->values, double, i)));
            json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:o, s:o, s:o}", "task", column->task, "name",
                                                  column->metric, "n", cell->n, "mean", json_finite(cell->mean), "std",
                                                  json_finite(cell->std), "values", values));
        }
        good = print_json_line(json_pack("{s:s, s:i, s:i, s:i, s:i, s:o}", "row", row->name, "runs", row->n, "failed",
                                         row->n_failed, "untrained", row->n_untrained, "changed", row->n_changed,
                                         "scores", list),
                               error);
    }
    return good;
}

/* ---- all together ---- */

bool collect_runs(char *const *paths, int n, const CollectOptions *options, GError **error)
{
    g_autoptr(GPtrArray) runs = collected_runs(paths, n, options, error);
    Grid grid;
    if (runs == NULL)
        return false;
    bool good = grid_make(&grid, runs, options->scores, error);
    if (good && options->format == COLLECT_JSON)
        good = print_grid_json(&grid, error);
    else if (good && options->format == COLLECT_TSV)
        print_tsv(&grid, options);
    else if (good && options->format == COLLECT_LATEX)
        print_latex(&grid, options);
    else if (good)
        print_grid_table(&grid, options);
    grid_clear(&grid);
    return good;
}

/* The index of the name in the list; -1 with an error. NULL means the first one. */
static int choose_name(const char *option, const char *name, const char *const *names, GError **error)
{
    for (int i = 0; names[i]; i++)
        if (name == NULL || strcmp(names[i], name) == 0)
            return i;
    g_autofree char *list = g_strjoinv(", ", (char **)names);
    fail_user(error, "--%s is \"%s\", want one of %s", option, name, list);
    return -1;
}

bool verb_collect(int argc, char **argv, GError **error)
{
    static const char *const rows[] = { "options", "path", NULL };
    static const char *const formats[] = { "text", "markdown", "tsv", "latex", "json", NULL };
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (argc < 2)
        return fail_user(error, "no runs given; usage: " USAGE);
    if (digits < 0 || digits > 12)
        return fail_user(error, "--digits is %d, want 0 to 12", digits);
    int row = choose_name("by", by, rows, error), form = row < 0 ? -1 : choose_name("format", format, formats, error);
    if (form < 0)
        return false;
    const CollectOptions options = {
        .last = last, .by_path = row == 1, .scores = scores, .format = (CollectFormat)form, .digits = digits
    };
    return collect_runs(argv + 1, argc - 1, &options, error);
}
