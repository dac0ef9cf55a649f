/* plan.c: the tables of a report: planned and measured memory and time of a run, its machine, its options, samples of
 * its answers. */
#include "base/text.h"
#include "plan/step_timer.h"
#include "report/report.h"
#include "report/sections.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static double start_number(const ReportRun *run, const char *name)
{
    const json_t *value = json_object_get(run->start, name);
    return json_is_number(value) && json_number_value(value) > 0 ? json_number_value(value) : (double)NAN;
}

static char *bytes_or_none(double bytes)
{
    return bytes >= 0 && bytes < 1e18 ? text_bytes((uint64_t)bytes) : g_strdup("–");
}

/* "231 GFLOP/s": a count with the prefix of its size. */
static char *flops_or_none(double count, const char *unit)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P", "E", "Z", "Y" };
    guint i = 0;
    if (!(count > 0 && count < 1e30))
        return g_strdup("–");
    for (; count >= 999.5 && i + 1 < G_N_ELEMENTS(prefixes); i++)
        count /= 1000;
    return g_strdup_printf("%.3g %s%s", count, prefixes[i], unit);
}

static char *time_or_none(double seconds)
{
    return seconds >= 0 && seconds < 1e11 ? text_duration(seconds >= 60 ? round(seconds) : seconds) : g_strdup("–");
}

/* ---- plan and reality ---- */

static const char *const row_names[] = { "Steps", "Time of the steps so far", "Speed", "Work of the steps so far",
                                         "Memory of a process" };
enum { PLANNED_ROWS = G_N_ELEMENTS(row_names) };

/* What was planned [0] and what was measured [1] of a run, in the order of row_names. g_free each. */
static void tell_plan(char *cells[PLANNED_ROWS][2], const ReportRun *run)
{
    /* flops: of the samples trained on so far, if no token of a batch had been padding; rate: FLOP/s that a plan
     * expects of the machine's measured peak */
    const double steps = start_number(run, "steps"), flops = start_number(run, "sample_flops") * run->samples_trained,
                 rate = STEP_USUAL_SHARE * series_mean(&run->traces[TRACE_PEAK]);
    char *const told[PLANNED_ROWS][2] = {
        { isfinite(steps) && steps < 1e15 ? text_grouped((int64_t)steps) : g_strdup("–"),
          text_grouped(MAX(run->step, 0)) },
        { time_or_none(flops / rate), time_or_none(run->wall_s) },
        { flops_or_none(rate, "FLOP/s"), flops_or_none(series_mean(&run->traces[TRACE_FLOPS]), "FLOP/s") },
        { flops_or_none(flops, "FLOP"), flops_or_none(flops * series_mean(&run->traces[TRACE_FILL]), "FLOP") },
        { bytes_or_none(start_number(run, "memory")), bytes_or_none(run->memory) },
    };
    memcpy(cells, told, sizeof told);
}

void section_plan(GString *page, const ReportRun *runs, int n)
{
    char *cells[REPORT_RUNS][PLANNED_ROWS][2];
    HtmlTable table = html_table_new(1 + 2 * (guint)n);
    html_table_add(&table, NULL);
    for (int i = 0; i < n; i++) {
        tell_plan(cells[i], &runs[i]);
        html_table_add(&table, n == 1 ? g_strdup("planned") : g_strdup_printf("%s: planned", runs[i].name));
        html_table_add(&table, g_strdup("measured"));
    }
    for (int row = 0; row < PLANNED_ROWS; row++) {
        html_table_add(&table, g_strdup(row_names[row]));
        for (int i = 0; i < 2 * n; i++)
            html_table_add(&table, cells[i / 2][row][i % 2]);
    }
    html_table_end(&table, page, "runs");
    g_string_append_printf(
        page,
        "<p class=\"none\">Planned speed: %.0f %% of the peak of matrix products that the run measured. "
        "Measured time includes evaluations and saves.%s</p>\n",
        100 * STEP_USUAL_SHARE, runs[0].start ? "" : " An earlier version of loam made the run: it logged no plan.");
}

/* ---- machine ---- */

static const struct {
    const char *name, *key;
} machine_rows[] = {
    { "Host", "host" },   { "Processor", "processor" },   { "Memory", "machine_memory" }, { "Device", "device" },
    { "Ranks", "ranks" }, { "Parameters", "parameters" }, { "loam", "version" },
};

static char *tell_machine(const ReportRun *run, const char *key)
{
    const json_t *value = json_object_get(run->start, key);
    if (json_is_string(value))
        return report_clean(json_string_value(value), 200);
    if (!json_is_number(value) || !(fabs(json_number_value(value)) < 1e18))
        return g_strdup("–");
    return strcmp(key, "machine_memory") == 0 ? bytes_or_none(json_number_value(value))
                                              : text_grouped((int64_t)json_number_value(value));
}

void section_machine(GString *page, const ReportRun *runs, int n)
{
    bool known = false;
    HtmlTable table = report_table("", runs, n);
    for (size_t row = 0; row < G_N_ELEMENTS(machine_rows); row++) {
        html_table_add(&table, g_strdup(machine_rows[row].name));
        for (int i = 0; i < n; i++)
            html_table_add(&table, tell_machine(&runs[i], machine_rows[row].key));
    }
    for (int i = 0; i < n; i++)
        known = known || runs[i].start;
    html_table_end(&table, known ? page : NULL, "runs");
    if (!known)
        g_string_append(page, "<p class=\"none\">The run did not log where it was trained.</p>\n");
}

/* ---- options ---- */

static const ConfigChange *find_difference(const GPtrArray *differences, const char *name)
{
    for (guint i = 0; differences && i < differences->len; i++) {
        const ConfigChange *difference = differences->pdata[i];
        if (strcmp(difference->row->name, name) == 0)
            return difference;
    }
    return NULL;
}

/* Adds the row of an option, with its default and its value in each run, unless an earlier run has added it. */
static void add_option_row(HtmlTable *table, GPtrArray *const *all, int n, int first, const ConfigChange *difference)
{
    for (int i = 0; i < first; i++)
        if (find_difference(all[i], difference->row->name))
            return;
    html_table_add(table, g_strdup(difference->row->name));
    html_table_add(table, report_clean(*difference->was ? difference->was : "(none)", 200));
    for (int i = 0; i < n; i++) {
        const ConfigChange *own = find_difference(all[i], difference->row->name);
        html_table_add(table, all[i] == NULL ? g_strdup("?")
                              : own == NULL  ? g_strdup("(default)")
                                             : report_clean(*own->is ? own->is : "(none)", 400));
    }
}

void section_options(GString *page, const ReportRun *runs, int n)
{
    g_autofree GPtrArray **all = g_new0(GPtrArray *, n);
    HtmlTable table = html_table_new(2 + (guint)n);
    html_table_add(&table, g_strdup("option"));
    html_table_add(&table, g_strdup("default"));
    for (int i = 0; i < n; i++) {
        g_autoptr(GError) problem = NULL;
        g_autofree char *path = g_build_filename(runs[i].dir, "config.yaml", NULL);
        html_table_add(&table, g_strdup(runs[i].name));
        all[i] = config_differences(path, &problem);
        if (problem) {
            g_autofree char *reason = report_clean(problem->message, 400);
            g_string_append(page, "<p class=\"none\">");
            html_text(page, reason);
            g_string_append(page, "</p>\n");
        }
    }
    for (int i = 0; i < n; i++)
        for (guint j = 0; all[i] && j < all[i]->len; j++)
            add_option_row(&table, all, n, i, all[i]->pdata[j]);
    html_table_end(&table, page, "options");
    for (int i = 0; i < n; i++)
        if (all[i])
            g_ptr_array_unref(all[i]);
}

/* ---- samples ---- */

/* Texts that are indented by four spaces, below titles: a definition list. */
static void add_sample_items(GString *page, const ReportSample *sample)
{
    g_auto(GStrv) lines = g_strsplit(sample->text, "\n", -1);
    bool inside = false;
    if (*sample->name)
        html_heading(page, sample->name);
    g_string_append(page, "<dl class=\"samples\">");
    for (char **line = lines; *line; line++) {
        const bool text = g_str_has_prefix(*line, "    ");
        if (**line == '\0')
            continue;
        g_string_append(page, inside && !text ? "</dd>\n" : "");
        if (text && !inside)
            g_string_append(page, "<dd>");
        else if (!text)
            g_string_append(page, strcmp(*line, "**input**") == 0 ? "<dt class=\"first\">" : "<dt>");
        html_text(page, text ? *line + 4 : g_strstrip(g_strdelimit(*line, "*", ' ')));
        g_string_append(page, text ? "\n" : "</dt>");
        inside = text;
    }
    g_string_append(page, inside ? "</dd></dl>\n" : "</dl>\n");
}

static void add_samples(GString *page, const ReportRun *run, int n)
{
    if (n > 1)
        html_heading(page, run->name);
    g_string_append_printf(page, "<p class=\"none\">at step %" PRId64 "</p>\n",
                           ((const ReportSample *)run->samples->pdata[0])->step);
    for (guint i = 0; i < run->samples->len; i++)
        add_sample_items(page, run->samples->pdata[i]);
}

void section_samples(GString *page, const ReportRun *runs, int n)
{
    bool any = false;
    for (int i = 0; i < n; i++) {
        any = any || runs[i].samples->len;
        if (runs[i].samples->len)
            add_samples(page, &runs[i], n);
    }
    if (!any)
        g_string_append(page,
                        "<p class=\"none\">No answers are logged: log.samples=8 logs some at each evaluation of a "
                        "task.</p>\n");
}
