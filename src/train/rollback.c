#include "train/train.h"

#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/text.h"
#include "run/best.h"
#include "run/heartbeat.h"
#include "run/run_dir.h"
#include "train/services/services.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* RUN/rollback has the files
 *   to           the step of the rollback; it exists from the moment on at which the rollback is decided
 *   done         the rollback is complete
 *   undo         the reversal is decided
 *   best, latest the names of the checkpoints that the links of the run named
 *   checkpoints/ those of later steps
 *   no-NAME      the run has no file or folder NAME
 *   mlflow/      what the run had in a store of MLflow
 *   ranks/       the heartbeats of the last command
 *   config.yaml
 * and what services_written lists. */

static char *kept(const char *dir, const char *name)
{
    return g_build_filename(dir, "rollback", name, NULL);
}

static bool holds_file(const char *dir, const char *name)
{
    g_autofree char *path = kept(dir, name);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

static bool put_mark(const char *dir, const char *name, GError **error)
{
    g_autofree char *path = kept(dir, name);
    return io_write_file(path, "", 0, error);
}

/* Writes a step into a file of RUN/rollback, or of the folder that becomes it. */
static bool put_step(const char *folder, const char *name, int64_t step, GError **error)
{
    g_autofree char *path = g_build_filename(folder, name, NULL), *text = g_strdup_printf("%" PRId64 "\n", step);
    return io_write_file(path, text, strlen(text), error);
}

/* The number in the file NAME of RUN/rollback; -1 if there is none. */
static int64_t get(const char *dir, const char *name)
{
    g_autofree char *path = kept(dir, name), *text = NULL;
    size_t bytes;
    text = g_file_test(path, G_FILE_TEST_EXISTS) ? io_read_file(path, 32, &bytes, NULL) : NULL;
    return text && g_ascii_isdigit(*text) ? g_ascii_strtoll(text, NULL, 10) : -1;
}

/* ---- copies ---- */

/* A store of MLflow may be out of reach, which stops no rollback. */
static void keep_store(const char *dir, const char *folder)
{
    g_autoptr(GError) problem = NULL;
    g_autofree char *copy = g_build_filename(folder, "mlflow", NULL);
    if (!mlflow_copy(dir, copy, false, &problem))
        log_warning("log.mlflow: %s; --undo will not bring back what a new start removes there", problem->message);
}

static void put_store_back(const char *dir)
{
    g_autoptr(GError) problem = NULL;
    g_autofree char *copy = kept(dir, "mlflow");
    if (holds_file(dir, "mlflow") && !mlflow_copy(dir, copy, true, &problem))
        log_warning("log.mlflow: %s; what the run had there is not all back", problem->message);
}

/* If the run has no such file or folder, a file no-NAME says so, and an undo removes what came after. */
static bool copy(const char *dir, const char *folder, const char *name, GError **error)
{
    g_autofree char *from = g_build_filename(dir, name, NULL), *to = g_build_filename(folder, name, NULL),
                    *none = g_strdup_printf("%s/no-%s", folder, name);
    if (g_file_test(from, G_FILE_TEST_IS_DIR))
        return io_make_directories(to, error) && io_copy_tree(from, to, error);
    return g_file_test(from, G_FILE_TEST_EXISTS) ? io_copy_file(from, to, error) : io_write_file(none, "", 0, error);
}

/* Fills the folder that becomes RUN/rollback. */
static bool copy_all(const char *dir, const char *folder, int64_t step, GError **error)
{
    g_autofree char *checkpoints = g_build_filename(folder, "checkpoints", NULL);
    g_autofree const char **written = services_written();
    if (!io_remove_tree(folder, error) || !io_make_directories(checkpoints, error) ||
        !copy(dir, folder, "config.yaml", error))
        return false;
    for (int i = 0; written[i]; i++)
        if (!copy(dir, folder, written[i], error))
            return false;
    keep_store(dir, folder);
    return heartbeat_copy_all(folder, dir, error) && put_step(folder, "best", run_linked(dir, "best"), error) &&
           put_step(folder, "latest", run_linked(dir, "latest"), error) && put_step(folder, "to", step, error);
}

/* Creates RUN/rollback under a temporary name and renames it, so that it is never incomplete. A failure, such as a disk
 * that is full, leaves nothing of it. */
static bool keep_all(const char *dir, int64_t step, GError **error)
{
    g_autofree char *folder = g_build_filename(dir, "tmp-rollback", NULL),
                    *kept_in = g_build_filename(dir, "rollback", NULL);
    if (copy_all(dir, folder, step, error) && io_rename(folder, kept_in, error))
        return true;
    io_remove_tree(folder, NULL);
    return false;
}

/* ---- rolling back ---- */

/* Points the link "best" at the best checkpoint as of `state` or, if that no longer exists, at the best one of those
 * that do; removes the link if none has a value. */
static bool link_best(const char *dir, const TrainState *state, GError **error)
{
    RunBest best = { .step = state->best_step };
    g_autofree char *folder = run_checkpoint_path(dir, state->best_step), *metric = run_best_metric(dir);
    if (state->best_step >= 0 && !g_file_test(folder, G_FILE_TEST_IS_DIR)) {
        best = run_find_best(dir, state, metric);
        g_autofree char *what = run_describe_best(&best, state->best_step);
        log_warning("%s", what);
    }
    if (best.step < 0)
        return run_unlink(dir, "best", error);
    run_link(dir, "best", best.step);
    return true;
}

static bool move_later(const char *dir, int64_t step, GError **error)
{
    g_autoptr(GArray) steps = run_checkpoints(dir);
    for (guint i = 0; i < steps->len && g_array_index(steps, int64_t, i) > step; i++) {
        g_autofree char *from = run_checkpoint_path(dir, g_array_index(steps, int64_t, i)),
                        *name = g_path_get_basename(from), *place = kept(dir, "checkpoints"),
                        *to = g_build_filename(place, name, NULL);
        if (!io_rename(from, to, error))
            return false;
    }
    return true;
}

static bool cut_logs(const char *dir, RunPoint at, GError **error)
{
    g_autofree char *what =
        g_strdup_printf("rolled back to step %" PRId64 "; the same command goes on from there", at.step);
    /* Opening removes later lines. */
    TensorBoard *board = tensorboard_open(dir, at, &(LogConfig){ 0 }, error);
    Jsonl *lines = board ? jsonl_open(dir, at.step, error) : NULL;
    if (lines) {
        jsonl_write(lines, &(LogRecord){ METRIC_EVENT, at.step, .event = { .what = what } });
        jsonl_close(lines);
    }
    g_clear_pointer(&board, tensorboard_close);
    return lines != NULL;
}

static bool go_there(const char *dir, int64_t step, GError **error)
{
    TrainState state;
    g_autofree char *folder = run_checkpoint_path(dir, step);
    if (!checkpoint_load(folder, &(Checkpoint){ .state = &state }, error) || !move_later(dir, step, error))
        return false;
    run_link(dir, "latest", step);
    return link_best(dir, &state, error) && spike_cut(dir, step, error) &&
           cut_logs(dir, (RunPoint){ step, state.samples }, error) && put_mark(dir, "done", error);
}

static bool try_there(const char *dir, int64_t step, GError **error)
{
    g_autofree char *run = text_shell_word(dir);
    return go_there(dir, step, error) ||
           fail_context(error,
                        "the rollback to step %" PRId64 " is not finished; the next command tries again, and `loam "
                        "rollback %s --undo` gives it up",
                        step, run);
}

/* ---- undoing a rollback ---- */

static bool move_back(const char *dir, GError **error)
{
    g_autofree char *place = kept(dir, "checkpoints");
    g_autoptr(GDir) entries = g_dir_open(place, 0, NULL);
    const char *name;
    while (entries && (name = g_dir_read_name(entries))) {
        g_autofree char *from = g_build_filename(place, name, NULL),
                        *to = g_build_filename(dir, "checkpoints", name, NULL);
        if (!io_rename(from, to, error))
            return false;
    }
    return true;
}

/* Moves a file or folder back into the run, unless an interrupted reversal has already done so. */
static bool put_back(const char *dir, const char *name, GError **error)
{
    g_autofree char *from = kept(dir, name), *to = g_build_filename(dir, name, NULL),
                    *none = g_strconcat("no-", name, NULL);
    if (holds_file(dir, none))
        return io_remove_tree(to, error);
    if (!holds_file(dir, name))
        return true;
    return (g_file_test(to, G_FILE_TEST_IS_REGULAR) || io_remove_tree(to, error)) && io_rename(from, to, error);
}

static void link_back(const char *dir, const char *name)
{
    const int64_t step = get(dir, name);
    if (step >= 0)
        run_link(dir, name, step);
}

static bool go_back(const char *dir, GError **error)
{
    g_autofree const char **written = services_written();
    if (!move_back(dir, error))
        return false;
    link_back(dir, "latest");
    link_back(dir, "best");
    put_store_back(dir); /* where mlflow.txt says that it is now */
    if (!put_back(dir, "config.yaml", error))
        return false;
    for (int i = 0; written[i]; i++)
        if (!put_back(dir, written[i], error))
            return false;
    g_autofree char *folder = g_build_filename(dir, "rollback", NULL);
    if (holds_file(dir, HEARTBEAT_FOLDER) && !heartbeat_copy_all(dir, folder, error))
        return false;
    return rollback_forget(dir, error);
}

/* ---- public functions ---- */

bool rollback_finish(const char *dir, GError **error)
{
    g_autofree char *unfinished = g_build_filename(dir, "tmp-rollback", NULL);
    const int64_t step = get(dir, "to");
    if (!io_remove_tree(unfinished, error))
        return false;
    if (holds_file(dir, "undo"))
        return go_back(dir, error);
    return step < 0 || holds_file(dir, "done") || try_there(dir, step, error);
}

bool rollback_forget(const char *dir, GError **error)
{
    g_autofree char *folder = g_build_filename(dir, "rollback", NULL),
                    *doomed = g_build_filename(dir, "tmp-rollback", NULL);
    if (!g_file_test(folder, G_FILE_TEST_IS_DIR))
        return true;
    return io_remove_tree(doomed, error) && io_rename(folder, doomed, error) && io_remove_tree(doomed, error);
}

static bool fail_absent(const char *dir, int64_t step, const GArray *steps, GError **error)
{
    g_autoptr(GString) list = g_string_new(NULL);
    for (guint i = 0; i < steps->len; i++)
        g_string_append_printf(list, "%s%" PRId64, i > 0 ? ", " : "", g_array_index(steps, int64_t, i));
    return fail_user(error, "%s has no checkpoint of step %" PRId64 "; it has those of %s", dir, step,
                     steps->len > 0 ? list->str : "no step");
}

/* Fails if the checkpoints lie on another disk than the run, as behind a link: move_later cannot rename them. */
static bool check_disk(const char *dir, GError **error)
{
    struct stat run, checkpoints;
    g_autofree char *folder = g_build_filename(dir, "checkpoints", NULL);
    return stat(dir, &run) != 0 || stat(folder, &checkpoints) != 0 || run.st_dev == checkpoints.st_dev ||
           fail_user(error,
                     "%s is on another disk than the run, and a rollback cannot rename checkpoints from there into "
                     "%s/rollback: move the whole run to that disk, or the checkpoints to the run's",
                     folder, dir);
}

static bool go_locked(const char *dir, int64_t step, GError **error)
{
    if (!rollback_finish(dir, error))
        return false;
    g_autoptr(GArray) steps = run_checkpoints(dir);
    g_autofree char *folder = run_checkpoint_path(dir, step), *done = kept(dir, "done"),
                    *state_folder = g_build_filename(dir, "rollback", NULL);
    if (!g_file_test(folder, G_FILE_TEST_IS_DIR))
        return fail_absent(dir, step, steps, error);
    if (steps->len > 0 && step < g_array_index(steps, int64_t, 0) && !check_disk(dir, error))
        return false;
    TrainState state;
    if (!checkpoint_verify(folder, error) || !checkpoint_state(folder, &state, error))
        return false;
    if (state.steps != step)
        return fail_user(error, "%s holds the checkpoint of step %" PRId64 ": it was renamed", folder, state.steps);
    if (!holds_file(dir, "to"))
        return keep_all(dir, step, error) && try_there(dir, step, error);
    return io_remove_file(done, error) && put_step(state_folder, "to", step, error) && try_there(dir, step, error);
}

bool rollback_to(const char *dir, int64_t step, GError **error)
{
    int lock;
    if (!run_lock(dir, &lock, error))
        return false;
    const bool gone = go_locked(dir, step, error);
    lock_release(lock);
    return gone;
}

static bool undo_locked(const char *dir, GError **error)
{
    if (holds_file(dir, "undo"))
        return go_back(dir, error);
    if (!holds_file(dir, "to")) /* an interrupted rollback is also undone, as far as it got */
        return fail_user(error, "%s: there is no rollback to undo; the first save after a rollback makes it final",
                         dir);
    return put_mark(dir, "undo", error) && go_back(dir, error);
}

bool rollback_undo(const char *dir, GError **error)
{
    int lock;
    if (!run_lock(dir, &lock, error))
        return false;
    const bool undone = undo_locked(dir, error);
    lock_release(lock);
    return undone;
}
