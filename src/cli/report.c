/* report.c: `loam report`: a page about one or several runs. */
#include "report/report.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "run/run_dir.h"

#include <string.h>

#define USAGE "loam report RUN|FOLDER… [--out FILE] [--by step|tokens|hours]"

static const char about[] =
    "Writes a page about runs that any browser shows and prints, without a network: curves, events, scores, samples,\n"
    "what was planned and what was measured, options. Several runs share the axes. Runs may still be in progress. A "
    "folder,\n"
    "such as that of a sweep, stands for the runs below it.\n"
    "\n"
    "  loam report runs/a runs/b --out report.html\n";

static char *out, *by;
static const GOptionEntry entries[] = {
    CLI_PATH("out", out, "FILE", "file of the page (default: report.html in the folder of the first run)"),
    CLI_VALUE("by", by, "step|tokens|hours", "horizontal axis (default: step, or tokens if steps differ in size)"),
    { 0 },
};

static bool parse_axis(SeriesAxis *axis, GError **error)
{
    static const char *const names[] = { "", "step", "tokens", "hours" };
    for (size_t i = 1; by && i < G_N_ELEMENTS(names); i++)
        if (strcmp(by, names[i]) == 0)
            *axis = (SeriesAxis)i;
    return by == NULL || *axis != AXIS_AUTO || fail_user(error, "--by %s: want step, tokens or hours", by);
}

bool verb_report(int argc, char **argv, GError **error)
{
    SeriesAxis axis = AXIS_AUTO;
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error) || !parse_axis(&axis, error))
        return false;
    if (!cli_check_suffix("out", out, ".html", error))
        return false;
    g_autoptr(GPtrArray) remnants = g_ptr_array_new_with_free_func(g_free),
                         dirs = run_find_each(remnants, argv + 1, argc - 1, USAGE, error);
    run_warn_of_remnants(remnants);
    if (dirs == NULL)
        return false;
    if (dirs->len > REPORT_RUNS)
        return fail_user(error, "%u runs given, want 1 to %d", dirs->len, REPORT_RUNS);
    g_autofree char *path = out ? g_strdup(out) : g_build_filename(dirs->pdata[0], "report.html", NULL);
    if (!io_check_writable(path, error))
        return !out && fail_context(error, "the page would lie in the run; give another place by --out FILE");
    if (!report_write(path, (char **)dirs->pdata, (int)dirs->len, axis, error))
        return false;
    log_info("%s", path);
    return true;
}
