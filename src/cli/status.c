/* status.c: `loam status`: whether runs are training, and how far they are. */
#include "base/amount.h"
#include "base/log.h"
#include "cli/cli.h"
#include "run/run_dir.h"
#include "run/run_status.h"

#define USAGE "loam status RUN… [--silent TIME] [--stalled TIME] [--json]"

static const char about[] =
    "Says of each run whether it is alive, stalled, lost (its processes were killed), stopped (with a checkpoint),\n"
    "failed or ended, what it is doing, its last loss and its last save. A folder stands for the runs below it, such "
    "as\n"
    "those of a sweep. The exit status is not 0 if a run is stalled, lost or failed, lacks its config.yaml or its "
    "last\n"
    "checkpoint, or if a path has no run, so that a script may raise an alarm.\n"
    "\n"
    "  loam status runs/*\n";
static char *silent, *stalled;
static gboolean as_json;

static bool read_time(const char *option, const char *text, double *seconds, GError **error)
{
    Amount amount;
    if (text == NULL)
        return true;
    if (!amount_parse(&amount, text, NULL) || amount.unit != UNIT_SECONDS || amount.value <= 0)
        return fail_user(error, "%s %s is not a time; write one such as 30s or 10m", option, text);
    *seconds = amount.value;
    return true;
}

static bool needs_help(const RunStatus *status)
{
    return status->state == RUN_STALLED || status->state == RUN_LOST || status->state == RUN_FAILED ||
           status->lost >= 0;
}

static bool print_status_json(const RunStatus *status, const char *dir, GError **error)
{
    return print_json_line(
        json_pack("{s:s, s:s, s:s*, s:s*, s:s*, s:s*, s:s*, s:I, s:I, s:o*, s:o*, s:o, s:o, s:o, s:o, s:o, s:o}", "run",
                  dir, "state", run_state_names[status->state], "place", status->place, "places", status->places,
                  "event", status->event, "after", status->after, "log", status->log, "step", (json_int_t)status->step,
                  "saved", (json_int_t)status->saved, "missing", status->lost >= 0 ? json_integer(status->lost) : NULL,
                  "missing_best", status->lost_best >= 0 ? json_integer(status->lost_best) : NULL, "loss",
                  json_finite(status->loss), "lr", json_finite(status->lr), "tokens_per_s",
                  json_finite(status->tokens_per_s), "held_out_loss", json_finite(status->valid_loss), "logged_s",
                  json_finite(status->logged_s), "saved_s", json_finite(status->saved_s)),
        error);
}

/* With --json: a path that has no run, or no whole one, and what is missing there. */
static bool print_none(const char *path, const GError *problem, GError **error)
{
    return !as_json ||
           print_json_line(json_pack("{s:s, s:s, s:s}", "run", path, "state", "no run", "problem", problem->message),
                           error);
}

/* Warns of what is left of runs, and with --json prints a line for each. */
static bool print_remnants(const GPtrArray *remnants, GError **error)
{
    run_warn_of_remnants(remnants);
    for (guint i = 0; i < remnants->len; i++) {
        g_autoptr(GError) problem = NULL;
        g_autofree char *run = run_find(remnants->pdata[i], &problem);
        if (run == NULL && !print_none(remnants->pdata[i], problem, error))
            return false;
    }
    return true;
}

/* Prints the status of a run. *bad grows by 1 if it needs help, *gone if its last checkpoint is missing. */
static bool print_status(const char *dir, double silent_s, double stalled_s, int *bad, int *gone, GError **error)
{
    g_auto(RunStatus) status = { 0 };
    run_status_read(&status, dir, silent_s, stalled_s);
    g_autofree char *text = run_status_describe(&status, dir);
    *bad += needs_help(&status);
    *gone += status.lost >= 0;
    if (as_json)
        return print_status_json(&status, dir, error);
    fputs(text, stdout);
    return true;
}

/* Adds the runs of all paths to `dirs`, and what is left of others to `remnants`. With several paths, one without a run
 * is a warning, and *worst becomes at least its exit status. Returns the number of such paths, or -1 if it fails. */
static int find_runs(GPtrArray *dirs, GPtrArray *remnants, char *const *paths, int n, int *worst, GError **error)
{
    int none = 0;
    for (int i = 0; i < n; i++) {
        g_autoptr(GError) problem = NULL;
        g_autoptr(GPtrArray) found = run_find_each(remnants, &paths[i], 1, USAGE, &problem);
        if (found) {
            g_ptr_array_extend_and_steal(dirs, g_steal_pointer(&found));
            continue;
        }
        if (!print_none(paths[i], problem, error))
            return -1;
        if (n == 1) {
            g_propagate_error(error, g_steal_pointer(&problem));
            return -1;
        }
        log_warning("%s", problem->message);
        *worst = MAX(*worst, error_status(problem));
        none++;
    }
    return n > 0 ? none : (fail_user(error, "give a run; usage: " USAGE), -1);
}

bool verb_status(int argc, char **argv, GError **error)
{
    const GOptionEntry entries[] = {
        CLI_VALUE("silent", silent, "TIME", "a run whose ranks are silent for longer is lost (default 60s)"),
        CLI_VALUE("stalled", stalled, "TIME",
                  "a run that is in one place for longer, and for 20 steps, is stalled (default 10m)"),
        CLI_SWITCH("json", as_json, "print one JSON object per run"),
        { 0 },
    };
    double silent_s = RUN_SILENT_S, stalled_s = RUN_STALLED_S;
    g_autoptr(GPtrArray) dirs = g_ptr_array_new_with_free_func(g_free),
                         remnants = g_ptr_array_new_with_free_func(g_free);
    int bad = 0, gone = 0, worst = 1;
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error) || !read_time("--silent", silent, &silent_s, error) ||
        !read_time("--stalled", stalled, &stalled_s, error))
        return false;
    const int none = find_runs(dirs, remnants, argv + 1, argc - 1, &worst, error);
    run_keep_once(remnants);
    if (!print_remnants(remnants, none < 0 ? NULL : error) || none < 0)
        return false;
    run_keep_once(dirs);
    for (guint i = 0; i < dirs->len; i++)
        if (!print_status(dirs->pdata[i], silent_s, stalled_s, &bad, &gone, error))
            return false;
    g_autoptr(GString) text = g_string_new(NULL);
    if (bad > 0)
        g_string_append_printf(text, "%d of %u runs %s stalled, lost or failed%s", bad, dirs->len,
                               bad == 1 ? "is" : "are", gone == 0 ? "" : ", or without its checkpoint");
    if (none > 0)
        g_string_append_printf(text, "%s%d of %d paths %s no run", text->len ? ", " : "", none, argc - 1,
                               none == 1 ? "is" : "are");
    if (remnants->len > 0)
        g_string_append_printf(text, "%s%u more %s no whole run", text->len ? ", " : "", remnants->len,
                               remnants->len == 1 ? "folder is" : "folders are");
    return text->len == 0 || fail_as(error, (LoamError)worst, "%s", text->str);
}
