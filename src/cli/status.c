/* status.c: `loam status`: whether runs are training, and how far they are. */
#include "base/amount.h"
#include "cli/cli.h"
#include "train/run_status.h"

#include <inttypes.h>
#include <stdio.h>

#define USAGE "loam status RUN… [--silent TIME] [--stalled TIME] [--json]"

static const char about[] =
    "Says of each run whether it is alive, stalled, lost (its processes were killed), stopped (with a checkpoint),\n"
    "failed or ended, what it is doing, its last loss and its last save. The exit status is 1 "
    "if a run is stalled, lost or\n"
    "failed, so that a script may raise an alarm.\n"
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
    return status->state == RUN_STALLED || status->state == RUN_LOST || status->state == RUN_FAILED;
}

static bool print_json(const RunStatus *status, const char *dir, GError **error)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s*, s:s*, s:s*, s:I, s:I}", "run", dir, "state", run_state_names[status->state],
                  "place", status->place, "places", status->places, "event", status->event, "step",
                  (json_int_t)status->step, "saved", (json_int_t)status->saved);
    const struct {
        const char *name;
        double value;
    } numbers[] = { { "loss", status->loss },
                    { "lr", status->lr },
                    { "tokens_per_s", status->tokens_per_s },
                    { "held_out_loss", status->valid_loss },
                    { "logged_s", status->logged_s },
                    { "saved_s", status->saved_s } };
    for (size_t i = 0; object && i < G_N_ELEMENTS(numbers); i++)
        json_object_set_new(object, numbers[i].name, json_finite(numbers[i].value));
    return print_json_line(object, error);
}

bool verb_status(int argc, char **argv, GError **error)
{
    const GOptionEntry entries[] = {
        CLI_VALUE("silent", silent, "a run whose ranks are silent for longer is lost (default 60s)", "TIME"),
        CLI_VALUE("stalled", stalled,
                  "a run that is in one place for longer, and for 20 steps, is stalled (default 10m)", "TIME"),
        CLI_SWITCH("json", as_json, "print one JSON object per run"),
        { 0 },
    };
    double silent_s = RUN_SILENT_S, stalled_s = RUN_STALLED_S;
    int bad = 0;
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error) || !read_time("--silent", silent, &silent_s, error) ||
        !read_time("--stalled", stalled, &stalled_s, error) || !run_status_check(argv + 1, argc - 1, USAGE, error))
        return false;
    for (int i = 1; i < argc; i++) {
        RunStatus status;
        run_status_read(&status, argv[i], silent_s, stalled_s);
        g_autofree char *text = run_status_describe(&status, argv[i]);
        bad += needs_help(&status);
        const bool printed = !as_json || print_json(&status, argv[i], error);
        if (!as_json)
            fputs(text, stdout);
        run_status_clear(&status);
        if (!printed)
            return false;
    }
    return bad == 0 ||
           fail_user(error, "%d of %d runs %s stalled, lost or failed", bad, argc - 1, bad == 1 ? "is" : "are");
}
