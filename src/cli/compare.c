/* compare.c: `loam compare`: tables of the options and of the losses in which runs differ. */
#include "base/file.h"
#include "base/log.h"
#include "base/options/options.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/collect/collect.h"
#include "report/plot.h"
#include "report/series.h"
#include "run/changes.h"
#include "run/history.h"
#include "run/run_dir.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define USAGE    "loam compare RUN|FOLDER… [--rows N] [--svg FILE [--baseline NAME=LOSS]] [--json]"
#define MAX_RUNS 32

static const char about[] =
    "Compares runs: prints the options in which they differ, and their losses at equal steps and at equal numbers of\n"
    "input tokens (interpolated linearly between log lines). For a single run it prints the losses. A folder, such as "
    "that\n"
    "of a sweep, stands for the runs below it.\n"
    "\n"
    "  loam compare runs/a runs/b --svg curves.svg\n";

static int rows = 8;
static char *svg_path, *baseline_text;
static gboolean as_json;
static const GOptionEntry entries[] = {
    CLI_VALUE("rows", rows, "N", "rows of each table of losses (default 8)"),
    CLI_PATH("svg", svg_path, "FILE", "plot the loss curves as an SVG"),
    CLI_VALUE("baseline", baseline_text, "NAME=LOSS", "with --svg: also draw this loss as a dashed line"),
    CLI_SWITCH("json", as_json, "print one JSON object per option, then one per row"),
    { 0 },
};

/* One of the compared runs. */
typedef struct Run {
    char *name;
    History history;
    GPtrArray *settings;
    RunSources sources;
} Run;

static void run_clear(Run *run)
{
    g_free(run->name);
    history_clear(&run->history);
    g_clear_pointer(&run->settings, g_ptr_array_unref);
}

static bool run_read(Run *run, GHashTable *tokenizers, const char *path, GError **error)
{
    run->name = g_strdup(path);
    for (size_t n = strlen(run->name); n > 1 && run->name[n - 1] == '/'; n--)
        run->name[n - 1] = '\0';
    run->settings = option_settings_new();
    if (io_exists(path, "metrics.jsonl") && !run_has_config(path))
        return fail_user(error, "%s has %s config.yaml, whose options are compared: put it back", path,
                         io_exists(path, "config.yaml") ? "an empty" : "no");
    if (!history_read(&run->history, path, error))
        return false;
    if (run->history.skipped > 0)
        log_warning("%s/metrics.jsonl: damaged lines are left out: %" PRId64, path, run->history.skipped);
    history_tell_replaced(run->name, run->history.replaced);
    if (!run_settings_read(run->settings, tokenizers, path, error))
        return false;
    run->sources = run_sources(path);
    g_autofree char *changes = run_changes_read(path, run->settings);
    if (changes)
        log_warning("%s: options changed on the way: %s", run->name, changes);
    return true;
}

/* Reads the runs; *n: their number. One that cannot be read is named in a warning and left out, unless all are such. A
 * folder that is no run is an error. */
static bool read_runs(Run *runs, char *const *paths, int *n, GError **error)
{
    g_autoptr(GHashTable) tokenizers = run_settings_tokenizers();
    int read = 0;
    for (int i = 0; i < *n; i++) {
        Run *run = &runs[read];
        g_autoptr(GError) problem = NULL;
        if (run_read(run, tokenizers, paths[i], &problem)) {
            read++;
            continue;
        }
        g_autofree char *begun = run_of(paths[i]); /* a run that has no metrics.jsonl yet */
        const bool is_run = begun || io_exists(paths[i], "metrics.jsonl");
        if (!is_run || (read == 0 && i == *n - 1))
            return fail_with(error, g_steal_pointer(&problem));
        log_warning("%s is left out: %s", run->name, problem->message);
        run_clear(run);
        *run = (Run){ 0 };
    }
    *n = read;
    return true;
}

/* The paths, of which a folder that is no run, such as that of a sweep, stands for the runs below it; remnants of runs
 * there are warnings. */
static GPtrArray *run_paths(char *const *paths, int n)
{
    GPtrArray *all = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < n; i++) {
        const guint before = all->len;
        g_autoptr(GPtrArray) remnants = g_ptr_array_new_with_free_func(g_free);
        if (g_file_test(paths[i], G_FILE_TEST_IS_DIR) && !io_exists(paths[i], "metrics.jsonl"))
            run_find_below(all, remnants, paths[i]);
        run_warn_of_remnants(remnants);
        if (all->len == before)
            g_ptr_array_add(all, g_strdup(paths[i]));
    }
    return all;
}

/* ---- options ---- */

/* A run's value of an option; "-" if the option did not exist when the run was started. */
static const char *option_value(const Run *run, const char *option)
{
    const char *value = option_settings_find(run->settings, option);
    return value ? value : "-";
}

static bool differs(const Run *runs, int n, const char *option)
{
    for (int i = 1; i < n; i++)
        if (strcmp(option_value(&runs[i], option), option_value(&runs[0], option)) != 0)
            return true;
    return false;
}

/* Whether two runs name the same data or model by an option that was another one for each of them, by its hash. */
static bool changed_between(const Run *a, const Run *b, const char *option, int64_t hash_a, int64_t hash_b)
{
    return hash_a && hash_b && hash_a != hash_b && strcmp(option_value(a, option), option_value(b, option)) == 0;
}

/* Warns if a run's held-out loss is that of another objective than the first run's, or of other noise. */
static void warn_of_objectives(const Run *runs, int n)
{
    static const char *const deciding[] = {
        "data.objective",
        "data.noise_density",
        "data.mean_span_length",
        "data.whole_word",
        "data.max_ngram",
        "data.sentence_pairs",
        "data.subtrees",
        "data.subtree_span_length",
        "data.identifier_share",
        "data.identifier_probability",
        NULL,
    };
    for (int i = 1; i < n; i++)
        for (const char *const *name = deciding; *name; name++) {
            const char *was = option_value(&runs[0], *name), *is = option_value(&runs[i], *name);
            if (strcmp(was, is) == 0 || !runs[0].history.held_out || !runs[i].history.held_out)
                continue;
            log_warning(
                "the held-out losses of %s and %s are of other targets (%s: %s and %s): they cannot be compared",
                runs[0].name, runs[i].name, *name, was, is);
            return;
        }
}

/* Warns if data.train, train.init or the first held-out set is another one than that of the first run: its path may be
 * the same. The examples of a task are those in each run's folder. */
static void warn_of_sources(const Run *runs, int n)
{
    const Run *first = &runs[0];
    int trained = 0, began = 0, evaluated = 0;
    for (int i = n - 1; i > 0; i--) {
        const Run *run = &runs[i];
        const char *was = first->history.held_out, *is = run->history.held_out;
        if (changed_between(first, run, "data.train", first->sources.data, run->sources.data))
            trained = i;
        if (changed_between(first, run, "train.init", first->sources.init, run->sources.init))
            began = i;
        if (was && is && strcmp(was, is) != 0)
            evaluated = i;
    }
    if (trained)
        log_warning(
            "%s and %s were trained on other data, though data.train is the same: it was made again between them",
            first->name, runs[trained].name);
    if (began)
        log_warning("%s and %s began with other weights, though train.init is the same: that model was trained on, or "
                    "made again, between them",
                    first->name, runs[began].name);
    if (evaluated)
        log_warning("the held-out losses of %s and %s are of other samples: they cannot be compared", first->name,
                    runs[evaluated].name);
}

/* Names of the options that differ, without run.dir, in the order of the runs' configuration files. */
static GPtrArray *differing_options(const Run *runs, int n)
{
    GPtrArray *names = g_ptr_array_new();
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (int i = 0; i < n; i++)
        for (guint j = 0; j < runs[i].settings->len; j++) {
            const OptionSetting *setting = runs[i].settings->pdata[j];
            if (g_hash_table_add(seen, setting->name) && strcmp(setting->name, "run.dir") != 0 &&
                differs(runs, n, setting->name))
                g_ptr_array_add(names, setting->name);
        }
    return names;
}

/* ---- tables ---- */

static const char *shown(const char *value)
{
    return *value ? value : "(none)";
}

static void print_options(const Run *runs, int n)
{
    g_autoptr(GPtrArray) names = differing_options(runs, n);
    if (n == 1)
        return;
    if (names->len == 0) {
        puts("the options are the same");
        return;
    }
    Table table = table_new(n + 1);
    table_add(&table, g_strdup("options that differ"));
    for (int i = 0; i < n; i++)
        table_add(&table, g_strdup(runs[i].name));
    for (guint j = 0; j < names->len; j++) {
        table_add(&table, g_strdup(names->pdata[j]));
        for (int i = 0; i < n; i++)
            table_add(&table, g_strdup(shown(option_value(&runs[i], names->pdata[j]))));
    }
    table_print(&table);
}

/* ---- losses ---- */

/* A kind of loss (training, held-out), and whether it is compared at equal steps or at equal tokens. */
typedef struct Axis {
    const char *heading, *key;
    bool valid, by_tokens;
} Axis;

static const Axis axes[] = {
    { "held-out loss at step", "step", true, false },
    { "held-out loss after tokens", "tokens", true, true },
    { "training loss at step", "step", false, false },
    { "training loss after tokens", "tokens", false, true },
};

static const GArray *points_of(const Run *run, const Axis *axis)
{
    return axis->valid ? run->history.valid : run->history.train;
}

static double place_of_point(const GArray *points, guint i, const Axis *axis)
{
    return history_x(&g_array_index(points, HistoryPoint, i), axis->by_tokens);
}

static double loss_at(const Run *run, const Axis *axis, double x)
{
    return history_loss_at(points_of(run, axis), axis->by_tokens, x);
}

/* Steps (or tokens) at which losses are compared: at most `rows` that the shortest run logged, with its last one. */
static GArray *places_of(const Run *runs, int n, const Axis *axis)
{
    GArray *places = g_array_new(FALSE, FALSE, sizeof(double));
    const GArray *shortest = NULL;
    for (int i = 0; i < n; i++) {
        const GArray *points = points_of(&runs[i], axis);
        if (points->len == 0 || isnan(place_of_point(points, points->len - 1, axis)))
            return places;
        if (shortest == NULL ||
            place_of_point(points, points->len - 1, axis) < place_of_point(shortest, shortest->len - 1, axis))
            shortest = points;
    }
    guint every = (shortest->len + (guint)rows - 1) / (guint)rows;
    for (guint i = (shortest->len - 1) % every; i < shortest->len; i += every) {
        double x = place_of_point(shortest, i, axis);
        g_array_append_val(places, x);
    }
    return places;
}

static void print_losses(const Run *runs, int n, const Axis *axis)
{
    g_autoptr(GArray) places = places_of(runs, n, axis);
    if (places->len == 0)
        return;
    Table table = table_new(n + 1);
    table_add(&table, g_strdup(axis->heading));
    for (int i = 0; i < n; i++)
        table_add(&table, g_strdup(runs[i].name));
    for (guint j = 0; j < places->len; j++) {
        double x = g_array_index(places, double, j);
        table_add(&table, axis->by_tokens ? text_count(x) : g_strdup_printf("%.0f", x));
        for (int i = 0; i < n; i++) {
            double loss = loss_at(&runs[i], axis, x);
            table_add(&table, isnan(loss) ? g_strdup("-") : text_fixed(loss, 4));
        }
    }
    putchar('\n');
    table_print(&table);
}

/* ---- JSON ---- */

static bool print_json_options(const Run *runs, int n, GError **error)
{
    g_autoptr(GPtrArray) names = differing_options(runs, n);
    bool good = true;
    for (guint j = 0; good && j < names->len; j++) {
        json_t *values = json_object();
        for (int i = 0; i < n; i++)
            json_object_set_new(values, runs[i].name, json_string(option_value(&runs[i], names->pdata[j])));
        good = print_json_line(json_pack("{s:s, s:o}", "option", names->pdata[j], "values", values), error);
    }
    return good;
}

static bool print_json_losses(const Run *runs, int n, const Axis *axis, GError **error)
{
    g_autoptr(GArray) places = places_of(runs, n, axis);
    bool good = true;
    for (guint j = 0; good && j < places->len; j++) {
        double x = g_array_index(places, double, j);
        json_t *losses = json_object();
        for (int i = 0; i < n; i++)
            json_object_set_new(losses, runs[i].name, json_finite(loss_at(&runs[i], axis, x)));
        good = print_json_line(json_pack("{s:s, s:I, s:o}", "kind", axis->valid ? "valid" : "train", axis->key,
                                         (json_int_t)llround(x), "losses", losses),
                               error);
    }
    return good;
}

/* ---- curves ---- */

enum { LEGEND_LINE = 18, X_TICKS = 7, Y_TICKS = 6 };

/* A reference loss, drawn as a horizontal line. */
typedef struct Baseline {
    char *name; /* NULL means no line */
    double loss;
} Baseline;

static double tokens_a_step(const History *history)
{
    if (history->train->len == 0)
        return NAN;
    const HistoryPoint *last = &g_array_index(history->train, HistoryPoint, history->train->len - 1);
    return last->tokens / (double)last->step;
}

/* Whether the x axis is tokens, not steps: all runs have token counts, and read different numbers of them per step. */
static bool compares_by_tokens(const Run *runs, int n)
{
    double first = tokens_a_step(&runs[0].history);
    bool same = true;
    for (int i = 0; i < n; i++) {
        double ratio = tokens_a_step(&runs[i].history) / first;
        if (isnan(ratio))
            return false;
        same = same && ratio > 0.98 && ratio < 1.02;
    }
    return !same;
}

/* The losses as PlotPoint, at most SERIES_POINTS of them. */
static GArray *plot_points(const GArray *losses, SeriesAxis axis)
{
    g_auto(Series) series;
    series_init(&series);
    for (guint i = 0; i < losses->len; i++) {
        const HistoryPoint *point = &g_array_index(losses, HistoryPoint, i);
        series_add(&series, point->step, point->tokens, NAN, point->loss);
    }
    return series_plot(&series, axis, 1);
}

static double last_x(const GArray *points)
{
    return points->len ? g_array_index(points, PlotPoint, points->len - 1).x : 0;
}

static void add_legend(GString *svg, const Run *run, int colour)
{
    const int y = PLOT_HEIGHT + 12 + colour * LEGEND_LINE;
    const GArray *train = run->history.train, *valid = run->history.valid;
    g_autoptr(GString) text = g_string_new(run->name);
    if (train->len > 0)
        g_string_append_printf(text, ": training %.3f", g_array_index(train, HistoryPoint, train->len - 1).loss);
    if (valid->len > 0)
        g_string_append_printf(text, "%s held out %.3f", train->len > 0 ? "," : ":",
                               g_array_index(valid, HistoryPoint, valid->len - 1).loss);
    g_string_append_printf(svg, "<path class=\"line%s\" stroke=\"var(--p%d)\" d=\"M%d %dh16\"/>",
                           colour >= PLOT_COLOURS ? " dash" : "", colour % PLOT_COLOURS, PLOT_LEFT, y - 4);
    plot_text(svg, PLOT_LEFT + 24, y, "start", text->str);
}

static void draw_page(GString *svg, const Run *runs, int n, Baseline baseline, const PlotLine *lines, SeriesAxis axis)
{
    double right = 1, low = baseline.name ? baseline.loss : (double)INFINITY,
           high = baseline.name ? low : (double)-INFINITY;
    plot_range(&low, &high, lines, 2 * n, false);
    for (int i = 0; i < 2 * n; i++)
        right = fmax(right, last_x(lines[i].points));
    g_autofree char *level = baseline.name ? g_strdup_printf("%s %.2f", baseline.name, baseline.loss) : NULL;
    const Plot plot = { .alone = true,
                        .title = "loss, nats per target token (line: training, points: held out)",
                        .x_name = series_axis_name(axis),
                        .x = plot_axis(0, right, X_TICKS, false, false),
                        .y = plot_axis(low, high, Y_TICKS, false, true),
                        .lines = lines,
                        .n_lines = 2 * n,
                        .level_name = level,
                        .level = baseline.loss };
    plot_open(svg, &plot, n * LEGEND_LINE + 6);
    for (int i = 0; i < n; i++)
        add_legend(svg, &runs[i], i);
    plot_close(svg, &plot);
}

/* Appends an SVG with, for each run, the training loss as a line and the held-out losses as points. The x axis is input
 * tokens; it is steps if all runs read about equally many tokens per step, or if one has no count of tokens. */
static void draw_curves(GString *svg, const Run *runs, int n, Baseline baseline)
{
    const SeriesAxis axis = compares_by_tokens(runs, n) ? AXIS_TOKENS : AXIS_STEPS;
    g_autofree PlotLine *lines = g_new0(PlotLine, 2 * n);
    for (int i = 0; i < n; i++) {
        lines[2 * i] = (PlotLine){ plot_points(runs[i].history.train, axis), i, false };
        lines[2 * i + 1] = (PlotLine){ plot_points(runs[i].history.valid, axis), i, true };
    }
    draw_page(svg, runs, n, baseline, lines, axis);
    for (int i = 0; i < 2 * n; i++)
        g_array_unref((GArray *)(uintptr_t)lines[i].points);
}

/* ---- the verb ---- */

static bool parse_baseline(Baseline *baseline, GError **error)
{
    const char *equals = baseline_text ? strrchr(baseline_text, '=') : NULL;
    char *end = NULL;
    if (baseline_text == NULL)
        return true;
    if (equals)
        baseline->loss = g_ascii_strtod(equals + 1, &end);
    if (equals == NULL || equals == baseline_text || end == equals + 1 || *end != '\0' || !isfinite(baseline->loss))
        return fail_user(error, "--baseline is \"%s\", want NAME=LOSS, such as \"unigram=5.11\"", baseline_text);
    baseline->name = g_strndup(baseline_text, (gsize)(equals - baseline_text));
    return true;
}

static bool write_svg(const Run *runs, int n, GError **error)
{
    Baseline baseline = { 0 };
    g_autoptr(GString) svg = g_string_new(NULL);
    if (!cli_check_suffix("svg", svg_path, ".svg", error) ||
        !io_check_replaces(svg_path, "<svg ", "SVG of loam", error) || !parse_baseline(&baseline, error))
        return false;
    draw_curves(svg, runs, n, baseline);
    g_free(baseline.name);
    return io_write_file(svg_path, svg->str, svg->len, error);
}

static bool print_comparison(const Run *runs, int n, GError **error)
{
    bool good = as_json ? print_json_options(runs, n, error) : (print_options(runs, n), true);
    for (size_t i = 0; good && i < G_N_ELEMENTS(axes); i++)
        good = as_json ? print_json_losses(runs, n, &axes[i], error) : (print_losses(runs, n, &axes[i]), true);
    return good;
}

bool verb_compare(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    g_autoptr(GPtrArray) paths = run_paths(argv + 1, argc - 1);
    int n = (int)paths->len;
    Run runs[MAX_RUNS] = { 0 };
    if (n < 1 || n > MAX_RUNS)
        return fail_user(error, "%d runs given, want 1 to %d; usage: " USAGE, n, MAX_RUNS);
    if (rows < 1 || rows > 10000)
        return fail_user(error, "--rows is %d, want 1 to 10000", rows);
    if (baseline_text && svg_path == NULL)
        return fail_user(error, "--baseline is a line of the picture that --svg FILE writes, and there is no --svg");
    const bool read = read_runs(runs, (char *const *)paths->pdata, &n, error);
    if (read)
        warn_of_sources(runs, n);
    warn_of_objectives(runs, n);
    bool good = read && (svg_path == NULL || write_svg(runs, n, error)) && print_comparison(runs, n, error);
    for (int i = 0; i < n; i++)
        run_clear(&runs[i]);
    return good;
}
