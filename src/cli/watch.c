/* watch.c: `loam watch`: the status of runs, again and again. */
#include "base/log.h"
#include "base/text.h"
#include "cli/cli.h"
#include "run/run_dir.h"
#include "run/run_status.h"

#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#define USAGE "loam watch RUN… [--every SECONDS]"

static const char about[] =
    "Shows the status of runs again and again, with a curve of their last losses, until all of them have ended. On a\n"
    "terminal the picture is drawn anew; elsewhere a line is printed for each change.\n"
    "\n"
    "  loam watch runs/a\n";

static double every = 2;
static const GOptionEntry entries[] = {
    CLI_VALUE("every", every, "SECONDS", "seconds between two updates (default 2)"),
    { 0 },
};

/* Appends the recent losses as a row of bar characters, scaled from the smallest to the largest loss. */
static void append_curve(GString *text, const RunStatus *status)
{
    static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < status->n_losses; i++) {
        low = fmin(low, status->losses[i]);
        high = fmax(high, status->losses[i]);
    }
    if (status->n_losses < 2 || !isfinite(low) || !isfinite(high))
        return;
    g_string_append(text, "  ");
    for (int i = 0; i < status->n_losses; i++) {
        const double share = high > low ? (status->losses[i] - low) / (high - low) : 0;
        g_string_append(text, isfinite(share) ? bars[(int)round(share * 7)] : " ");
    }
    g_string_append_printf(text, "  %.4f to %.4f\n", low, high);
}

static bool is_gone(const char *dir)
{
    return !g_file_test(dir, G_FILE_TEST_IS_DIR);
}

/* The state, step and loss of a run, without a line end. */
static void append_summary(GString *text, const RunStatus *status, const char *dir)
{
    g_autofree char *name = text_printable(dir);
    g_string_append_printf(text, "%s: %s", name, is_gone(dir) ? "gone" : run_state_names[status->state]);
    if (status->step >= 0)
        g_string_append_printf(text, "  step %" PRId64, status->step);
    if (isfinite(status->loss))
        g_string_append_printf(text, "  loss %.4f", status->loss);
}

/* One line of a run among several, with the curve. */
static void append_status(GString *text, const RunStatus *status, const char *dir)
{
    append_summary(text, status, dir);
    if (status->n_losses >= 2)
        append_curve(text, status);
    if (text->str[text->len - 1] != '\n')
        g_string_append_c(text, '\n');
}

/* Waits until each path has a run, and warns of remnants of runs. */
static GPtrArray *wait_for_runs(char *const *paths, int n, GError **error)
{
    for (bool said = false;; said = true) {
        g_autoptr(GError) problem = NULL;
        g_autoptr(GPtrArray) remnants = g_ptr_array_new_with_free_func(g_free);
        GPtrArray *dirs = run_find_each(remnants, paths, n, USAGE, &problem);
        bool missing = dirs == NULL && n > 0 && error_status(problem) == LOAM_ERROR_USER;
        for (int i = 0; missing && i < n; i++)
            missing = !g_file_test(paths[i], G_FILE_TEST_EXISTS) || g_file_test(paths[i], G_FILE_TEST_IS_DIR);
        if (!missing) {
            run_warn_of_remnants(remnants);
            if (problem)
                g_propagate_error(error, g_steal_pointer(&problem));
            return dirs;
        }
        if (!said)
            log_info("waiting for the run: %s", problem->message);
        g_usleep((gulong)(every * G_USEC_PER_SEC));
    }
}

/* Adds the runs below the paths that have begun since the last look, such as the next one of a sweep. */
static void add_new_runs(GPtrArray *dirs, char *const *paths, int n)
{
    g_autoptr(GPtrArray) remnants = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < n; i++)
        run_find_below(dirs, remnants, paths[i]);
    run_keep_once(dirs);
}

/* Whether runs may begin below one of the paths when those there have ended. */
static bool has_folder_of_runs(char *const *paths, int n)
{
    bool found = false;
    for (int i = 0; i < n; i++) {
        g_autofree char *run = run_of(paths[i]);
        found |= run == NULL;
    }
    return found;
}

/* Prints a line if the status of the run has changed. seen: folder of a run -> the line that was last printed for it.
 */
static void print_changes(const RunStatus *status, const char *dir, GHashTable *seen)
{
    g_autoptr(GString) line = g_string_new(NULL);
    append_summary(line, status, dir);
    if (g_strcmp0(line->str, g_hash_table_lookup(seen, dir)) == 0)
        return;
    puts(line->str);
    fflush(stdout);
    g_hash_table_insert(seen, g_strdup(dir), g_strdup(line->str));
}

/* Reads and shows the status of all runs once; false when all have ended. */
static bool look_at_runs(const GPtrArray *dirs, GHashTable *seen, bool draws)
{
    g_autoptr(GString) picture = g_string_new(draws ? "\033[H" : NULL);
    bool goes_on = false;
    for (guint i = 0; i < dirs->len; i++) {
        g_auto(RunStatus) status = { 0 };
        const char *dir = dirs->pdata[i];
        run_status_read(&status, dir, RUN_SILENT_S, RUN_STALLED_S);
        g_autofree char *text = run_status_describe(&status, dir);
        goes_on |= status.state == RUN_ALIVE || status.state == RUN_STALLED;
        if (draws && dirs->len > 1) {
            append_status(picture, &status, dir);
        } else if (draws) {
            g_string_append(picture, text);
            append_curve(picture, &status);
        } else {
            print_changes(&status, dir, seen);
        }
    }
    if (draws) {
        /* Clears the rest of each line, where the previous picture may have been longer. */
        g_string_replace(picture, "\n", "\033[K\n", 0);
        g_string_append(picture, "\033[J");
        fputs(picture->str, stdout);
        fflush(stdout);
    }
    return goes_on;
}

bool verb_watch(int argc, char **argv, GError **error)
{
    if (!cli_parse(&argc, &argv, entries, USAGE, about, error))
        return false;
    if (!(every > 0 && every < 1e6))
        return fail_user(error, "--every %g: more than 0 seconds are wanted", every);
    g_autoptr(GPtrArray) dirs = wait_for_runs(argv + 1, argc - 1, error);
    if (dirs == NULL)
        return false;
    const bool draws = isatty(STDOUT_FILENO);
    /* a sweep has no run that is alive for a moment between two of its runs: two such looks mean its end */
    const int looks = has_folder_of_runs(argv + 1, argc - 1) ? 2 : 1;
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    if (draws)
        fputs("\033[2J", stdout);
    for (int idle = 0; !ferror(stdout); g_usleep((gulong)(every * G_USEC_PER_SEC))) {
        add_new_runs(dirs, argv + 1, argc - 1);
        idle = look_at_runs(dirs, seen, draws) ? 0 : idle + 1;
        if (idle == looks)
            break;
    }
    const char *gone = NULL;
    for (guint i = 0; i < dirs->len; i++)
        gone = is_gone(dirs->pdata[i]) ? dirs->pdata[i] : gone;
    return gone == NULL || fail_user(error, "%s is gone: it was renamed or deleted while it was watched", gone);
}
