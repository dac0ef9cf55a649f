#include "run/run_dir.h"

#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "run/checkpoint/checkpoint.h"
#include "run/metric_lines.h"

#include <glib/gstdio.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_TRIES 10 /* to find a valid checkpoint of a run that saves and removes some meanwhile */

char *run_checkpoint_path(const char *dir, int64_t step)
{
    g_autofree char *name = g_strdup_printf("step-%08" PRId64, step);
    return g_build_filename(dir, "checkpoints", name, NULL);
}

static int newest_first(gconstpointer a, gconstpointer b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

GArray *run_checkpoints(const char *dir)
{
    GArray *steps = g_array_new(false, false, sizeof(int64_t));
    g_autofree char *folder = g_build_filename(dir, "checkpoints", NULL);
    g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
    const char *name;
    while (entries && (name = g_dir_read_name(entries))) {
        char *end;
        if (!g_str_has_prefix(name, "step-") || !g_ascii_isdigit(name[5]))
            continue;
        int64_t step = g_ascii_strtoll(name + 5, &end, 10);
        if (*end == '\0')
            g_array_append_val(steps, step);
    }
    g_array_sort(steps, newest_first);
    return steps;
}

/* A folder under the name of another step, as after `mv step-00000200 step-00000900`, counts as damaged: a run that
 * trusted the name would go back to its state at each start, and remove newer checkpoints as older ones. */
static bool open_own(const char *folder, int64_t step, RunOpenFn open, void *context, GError **error)
{
    TrainState state;
    if (checkpoint_state(folder, &state, NULL) && state.steps != step) {
        g_set_error(error, CHECKPOINT_DAMAGED, LOAM_ERROR_USER,
                    "%s holds the checkpoint of step %" PRId64 ": it was renamed", folder, state.steps);
        return false;
    }
    return open(folder, context, error);
}

/* Opens the first valid checkpoint; *step stays -1 if none is. False if one fails for another reason than damage. */
static bool open_first(const char *dir, const GArray *steps, RunOpenFn open, void *context, GPtrArray *damages,
                       int64_t *step, GError **error)
{
    for (guint i = 0; i < steps->len && *step < 0; i++) {
        g_autofree char *folder = run_checkpoint_path(dir, g_array_index(steps, int64_t, i));
        GError *problem = NULL;
        if (open_own(folder, g_array_index(steps, int64_t, i), open, context, &problem)) {
            *step = g_array_index(steps, int64_t, i);
        } else if (problem->domain != CHECKPOINT_DAMAGED) {
            return fail_with(error, problem);
        } else {
            g_ptr_array_add(damages, problem);
        }
    }
    return true;
}

/* Whether the run has a newer checkpoint than those of the list: it saved and removed some meanwhile. */
static bool has_newer(const char *dir, const GArray *steps)
{
    g_autoptr(GArray) there = run_checkpoints(dir);
    return there->len > 0 && (steps->len == 0 || g_array_index(there, int64_t, 0) > g_array_index(steps, int64_t, 0));
}

/* The step that the link checkpoints/NAME names, whether its folder exists or not; -1 means that there is no link. */
static int64_t step_of_link(const char *dir, const char *name)
{
    g_autofree char *link = g_build_filename(dir, "checkpoints", name, NULL), *target = g_file_read_link(link, NULL);
    const bool named = target && g_str_has_prefix(target, "step-") && g_ascii_isdigit(target[5]);
    return named ? g_ascii_strtoll(target + 5, NULL, 10) : -1;
}

/* The step of a checkpoint that the run has saved, whether it still exists or not: that of the links in its folder or,
 * without one, of the last save in metrics.jsonl. -1 means none. */
static int64_t recorded_save(const char *dir)
{
    MetricReader reader;
    int64_t step = MAX(step_of_link(dir, "latest"), step_of_link(dir, "best"));
    if (step >= 0 || !metric_reader_open(&reader, dir, NULL))
        return step;
    while (metric_reader_next(&reader))
        step = reader.record.kind == METRIC_SAVE ? reader.record.step : step;
    metric_reader_close(&reader, NULL);
    return step;
}

/* Whether the checkpoint that the link "latest" names is missing, and the link still names it: a run that saves
 * replaces the link and then removes the former checkpoint. */
static bool has_lost(const char *dir, int64_t latest)
{
    g_autofree char *folder = run_checkpoint_path(dir, latest);
    return latest >= 0 && !g_file_test(folder, G_FILE_TEST_EXISTS) && step_of_link(dir, "latest") == latest;
}

int64_t run_lost_save(const char *dir)
{
    const int64_t latest = step_of_link(dir, "latest");
    g_autoptr(GArray) steps = run_checkpoints(dir);
    if (latest >= 0 || steps->len > 0)
        return has_lost(dir, latest) ? latest : -1;
    const int64_t saved = recorded_save(dir);
    g_autoptr(GArray) now = run_checkpoints(dir);
    return now->len == 0 ? saved : -1;
}

/* Warns if the newest checkpoint was lost, and an older one is left. */
static void note_lost(const char *dir, int64_t step)
{
    const int64_t latest = step_of_link(dir, "latest");
    g_autofree char *folder = run_checkpoint_path(dir, latest);
    if (step >= 0 && latest > step && has_lost(dir, latest))
        log_warning("%s is missing; the previous checkpoint is used", folder);
}

bool run_open_newest(const char *dir, RunOpenFn open, void *context, int64_t *step, GError **error)
{
    g_autoptr(GPtrArray) damages = g_ptr_array_new_with_free_func((GDestroyNotify)g_error_free);
    g_autofree char *folder = g_build_filename(dir, "checkpoints", NULL);
    bool again = true;
    int64_t lost = -1;
    *step = -1;
    if (io_refused(folder, error))
        return false;
    for (int i = 0; i < MOST_TRIES && again; i++) {
        g_autoptr(GArray) steps = run_checkpoints(dir);
        g_ptr_array_set_size(damages, 0);
        if (!open_first(dir, steps, open, context, damages, step, error))
            return false;
        lost = steps->len == 0 && io_exists(dir, "checkpoints") ? recorded_save(dir) : -1;
        again = *step < 0 && has_newer(dir, steps);
    }
    g_autofree char *gone = run_checkpoint_path(dir, lost), *missing = g_strdup_printf("%s is missing", gone);
    if (*step < 0 && (damages->len || lost >= 0))
        return fail_user(
            error,
            "no checkpoint of %s is valid (%s); to start over, choose another run.dir or move %s/checkpoints away", dir,
            damages->len ? ((GError *)damages->pdata[0])->message : missing, dir);
    note_lost(dir, *step);
    for (guint i = 0; i < damages->len; i++)
        log_warning("%s; the previous checkpoint is used", ((GError *)damages->pdata[i])->message);
    return true;
}

bool run_set_aside(const char *dir, int64_t step, GError **error)
{
    g_autoptr(GArray) steps = run_checkpoints(dir);
    for (guint i = 0; i < steps->len && g_array_index(steps, int64_t, i) > step; i++) {
        int64_t above = g_array_index(steps, int64_t, i);
        g_autofree char *folder = run_checkpoint_path(dir, above);
        g_autofree char *aside = g_strdup_printf("%s/checkpoints/damaged-step-%08" PRId64, dir, above);
        if (!io_remove_tree(aside, error) || !io_rename(folder, aside, error))
            return false;
        log_info("renamed to %s", aside);
    }
    return true;
}

bool run_has_config(const char *dir)
{
    g_autofree char *path = g_build_filename(dir, "config.yaml", NULL);
    GStatBuf file;
    return g_stat(path, &file) == 0 && file.st_size > 0;
}

/* Whether a run may start in a folder that has this entry: a hidden file, a configuration (except config.yaml), a job
 * script, a log, or an empty file or folder, such as one that output is redirected to. */
static bool is_harmless(const char *dir, const char *name)
{
    static const char *const endings[] = { ".yaml", ".yml", ".sh", ".log", ".out", ".err" };
    if (strcmp(name, "config.yaml") == 0)
        return false;
    bool harmless = *name == '.' || strcmp(name, "lost+found") == 0;
    for (size_t i = 0; i < G_N_ELEMENTS(endings); i++)
        harmless = harmless || g_str_has_suffix(name, endings[i]);
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    GStatBuf file;
    return harmless || (folder && g_dir_read_name(folder) == NULL) ||
           (g_stat(path, &file) == 0 && S_ISREG(file.st_mode) && file.st_size == 0);
}

/* Whether a run has been started in this folder: it has a lock file, which every start creates first, or, as a copy of
 * a run may lack that, a checkpoint. */
static bool has_begun(const char *dir)
{
    g_autoptr(GArray) steps = run_checkpoints(dir);
    bool begun = io_exists(dir, "lock");
    for (guint i = 0; i < steps->len && !begun; i++) {
        g_autofree char *folder = run_checkpoint_path(dir, g_array_index(steps, int64_t, i));
        begun = io_exists(folder, "state.json");
    }
    return begun;
}

static bool check_openable(const char *path, GError **error)
{
    GStatBuf file;
    return g_stat(path, &file) != 0 || !(S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode) || S_ISBLK(file.st_mode)) ||
           fail_user(error, "%s is no regular file, and a run writes files here: move it away", path);
}

/* Fails if this user may not read and write what every run does: else it would train until its first save. */
static bool check_rights(const char *dir, GError **error)
{
    static const char *const written[] = { "", "lock", "log.txt", "metrics.jsonl", "tb", "checkpoints" };
    for (size_t i = 0; i < G_N_ELEMENTS(written); i++) {
        g_autofree char *path = *written[i] ? g_build_filename(dir, written[i], NULL) : g_strdup(dir);
        if (io_refused(path, error))
            return false;
        if (access(path, W_OK) < 0 && errno == EACCES)
            return fail_machine(error, "writing %s: %s; this user needs the right to write it (chmod, chown)", path,
                                g_strerror(EACCES));
    }
    return true;
}

/* Fails if an entry of a folder that a run writes files to is a FIFO, which may block, a socket or a disk. A link to
 * /dev/null is none. */
static bool check_files(const char *dir, GError **error)
{
    static const char *const folders[] = { "", "ranks", "tb" };
    for (size_t i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_autofree char *folder = g_build_filename(dir, folders[i], NULL);
        g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
        for (const char *name; entries && (name = g_dir_read_name(entries));) {
            g_autofree char *path = g_build_filename(folder, name, NULL);
            if (!check_openable(path, error))
                return false;
        }
    }
    return true;
}

bool run_check_folder(const char *dir, GError **error)
{
    g_autoptr(GDir) entries = g_dir_open(dir, 0, NULL);
    const char *name;
    if (!check_rights(dir, error) || !check_files(dir, error))
        return false;
    if (entries == NULL || has_begun(dir))
        return true;
    while ((name = g_dir_read_name(entries)))
        if (!is_harmless(dir, name))
            return fail_user(error,
                             "run.dir %s holds files (%s) and is not a run of loam; choose an empty or new folder", dir,
                             name);
    return true;
}

bool run_lock(const char *dir, int *lock, GError **error)
{
    g_autofree char *path = g_build_filename(dir, "lock", NULL);
    LockResult result = io_make_directories(dir, error) ? lock_file(path, lock, error) : LOCK_FAILED;
    return result == LOCK_HELD || (result == LOCK_TAKEN && fail_user(error,
                                                                     "another process is training in %s; stop it, "
                                                                     "or choose another run.dir",
                                                                     dir));
}

RunFolder run_folder(const char *dir)
{
    struct stat info;
    return stat(dir, &info) == 0 ? (RunFolder){ info.st_dev, info.st_ino } : (RunFolder){ 0 };
}

bool run_fail_moved(const char *dir, GError **error)
{
    return fail_machine(error,
                        "run.dir %s is no longer the folder that this run trains in: it was renamed, deleted or "
                        "replaced, or another run trains in it; the run ends, so that no file of it gets among others",
                        dir);
}

static bool check_here(const char *dir, const RunFolder *folder, int *lock, GError **error)
{
    const RunFolder there = run_folder(dir);
    g_autofree char *path = g_build_filename(dir, "lock", NULL);
    int fresh;
    if (there.device != folder->device || there.inode != folder->inode)
        return run_fail_moved(dir, error);
    if (*lock < 0 || io_is_named(*lock, path))
        return true;
    const LockResult result = lock_file(path, &fresh, NULL);
    if (result == LOCK_TAKEN)
        return run_fail_moved(dir, error);
    if (result == LOCK_HELD) {
        log_warning("%s was deleted while the run trains; it is made again", path);
        lock_release(*lock);
        *lock = fresh;
    }
    return true;
}

bool run_check_here(const char *dir, const RunFolder *folder, int *lock, GError **error)
{
    static GMutex one; /* the thread that saves asks too, and must not find the lock that this one is taking */
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&one);
    return check_here(dir, folder, lock, error);
}

/* Renames checkpoints/NAME to checkpoints/copied-NAME if it is a folder, as in a run that was copied by a program that
 * follows links: `aws s3 sync`, `cp -rL`. */
static bool set_copy_aside(const char *dir, const char *name, const char *link, GError **error)
{
    if (g_file_test(link, G_FILE_TEST_IS_SYMLINK) || !g_file_test(link, G_FILE_TEST_IS_DIR))
        return true;
    g_autofree char *aside = g_strdup_printf("%s/checkpoints/copied-%s", dir, name);
    if (!io_remove_tree(aside, error) || !io_rename(link, aside, error))
        return false;
    log_warning(
        "%s is a folder, not a link: the run was copied with its links followed; the folder is now %s and may be "
        "removed",
        link, aside);
    return true;
}

void run_link(const char *dir, const char *name, int64_t step)
{
    static gint warned;
    g_autofree char *link = g_build_filename(dir, "checkpoints", name, NULL);
    g_autofree char *target = g_strdup_printf("step-%08" PRId64, step);
    g_autoptr(GError) problem = NULL;
    if (set_copy_aside(dir, name, link, &problem) && io_replace_link(link, target, &problem))
        return;
    if (run_linked(dir, name) != step) /* one of an earlier save would mislead */
        io_remove_file(link, NULL);
    if (g_atomic_int_compare_and_exchange(&warned, 0, 1))
        log_warning("%s; the checkpoint is complete, and is found without the link", problem->message);
}

bool run_unlink(const char *dir, const char *name, GError **error)
{
    g_autofree char *link = g_build_filename(dir, "checkpoints", name, NULL);
    return set_copy_aside(dir, name, link, error) && io_remove_file(link, error);
}

/* What the link of this name would be. */
static int64_t find_unlinked(const char *dir, const char *name)
{
    TrainState state;
    g_autoptr(GArray) steps = run_checkpoints(dir);
    const bool latest = strcmp(name, "latest") == 0;
    for (guint i = 0; i < steps->len; i++) {
        const int64_t step = g_array_index(steps, int64_t, i);
        g_autofree char *folder = run_checkpoint_path(dir, step);
        if (!checkpoint_state(folder, &state, NULL))
            continue;
        g_autofree char *best = run_checkpoint_path(dir, state.best_step);
        return latest ? step : g_file_test(best, G_FILE_TEST_IS_DIR) ? state.best_step : -1;
    }
    return -1;
}

int64_t run_linked(const char *dir, const char *name)
{
    GStatBuf info;
    g_autofree char *link = g_build_filename(dir, "checkpoints", name, NULL);
    if (g_lstat(link, &info) < 0 || S_ISDIR(info.st_mode)) /* a folder: the run was copied with its links followed */
        return find_unlinked(dir, name);
    return step_of_link(dir, name);
}

char *run_linked_path(const char *dir, const char *name)
{
    char *link = g_build_filename(dir, "checkpoints", name, NULL);
    const int64_t step = g_file_test(link, G_FILE_TEST_EXISTS) ? -1 : run_linked(dir, name);
    if (step < 0)
        return link;
    g_free(link);
    return run_checkpoint_path(dir, step);
}

bool run_wants_best(const char *dir)
{
    g_autofree char *path = g_build_filename(dir, "config.yaml", NULL);
    g_autoptr(GPtrArray) settings = option_settings_new();
    if (!option_settings_read_yaml(settings, path, NULL))
        return false;
    const char *best = option_settings_find(settings, "train.best"),
               *patience = option_settings_find(settings, "train.patience");
    return (best && strcmp(best, "loss") != 0) || (patience && strcmp(patience, "0") != 0);
}

bool run_means_best(const char *dir)
{
    g_autofree char *folder = run_linked(dir, "best") < 0 ? NULL : run_linked_path(dir, "best");
    return folder && io_exists(folder, "state.json") && run_wants_best(dir);
}

bool run_remove_unfinished(const char *dir, GError **error)
{
    g_autofree char *folder = g_build_filename(dir, "checkpoints", NULL);
    g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
    const char *name;
    while (entries && (name = g_dir_read_name(entries))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (g_str_has_prefix(name, "tmp-") && !io_remove_tree(path, error))
            return false;
    }
    return true;
}

static bool is_kept(const RunKeep *keep, int64_t step)
{
    bool kept = keep->every && step % keep->every == 0;
    for (size_t i = 0; i < G_N_ELEMENTS(keep->steps); i++)
        kept |= step == keep->steps[i];
    return kept;
}

/* What a checkpoint says of itself. */
typedef struct Own {
    bool best;    /* it was the best one when it was saved */
    bool renamed; /* its folder has the name of another step */
} Own;

static Own read_own(const char *folder, int64_t step)
{
    TrainState state;
    const bool read = checkpoint_state(folder, &state, NULL);
    return (Own){ read && state.best_step == step, read && state.steps != step };
}

bool run_retain(const char *dir, const RunKeep *keep, GError **error)
{
    g_autoptr(GArray) steps = run_checkpoints(dir);
    int64_t n_best = 0, n_last = 0;
    for (guint i = 0; i < steps->len; i++) {
        int64_t step = g_array_index(steps, int64_t, i);
        g_autofree char *folder = run_checkpoint_path(dir, step);
        const bool kept = is_kept(keep, step);
        const Own own = !kept || n_last < keep->last || n_best < keep->best ? read_own(folder, step) : (Own){ 0 };
        if (own.renamed)
            continue;
        const bool best = n_best < keep->best && own.best;
        n_best += best;
        if (n_last++ < keep->last || best || kept)
            continue;
        if (!io_remove_tree(folder, error))
            return false;
    }
    return run_remove_unfinished(dir, error);
}
