
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/text.h"
#include "run/heartbeat.h"
#include "run/metric_lines.h"
#include "run/run_dir.h"

#include <stdlib.h>
#include <string.h>

#define MOST_DEEP 6 /* deepest level of folders that is searched for runs */

/* Other projects have a config.yaml and checkpoints/ too: a run also has a lock file or checkpoints named step-…. */
static bool is_run(const char *dir)
{
    g_autoptr(GArray) steps = run_checkpoints(dir);
    return run_has_config(dir) && io_exists(dir, "checkpoints") && (steps->len > 0 || io_exists(dir, "lock"));
}

/* Whether metrics.jsonl begins with a record of loam: other programs write files of this name. */
static bool has_metrics(const char *dir)
{
    MetricReader reader;
    if (!io_exists(dir, "metrics.jsonl") || !metric_reader_open(&reader, dir, NULL))
        return false;
    const bool own = metric_reader_next(&reader) && reader.record.kind != METRIC_OTHER;
    metric_reader_close(&reader, NULL);
    return own;
}

/* A run that is starting has its lock, its log and heartbeats, and no configuration yet. */
bool run_is_remnant(const char *dir)
{
    g_autoptr(GArray) steps = run_checkpoints(dir);
    g_autofree char *lock = g_build_filename(dir, "lock", NULL);
    if (is_run(dir))
        return false;
    if (steps->len > 0 || has_metrics(dir))
        return true;
    return !lock_is_held(lock) && (io_exists(dir, HEARTBEAT_FOLDER "/0000.json") ||
                                   (io_exists(dir, "lock") && (run_has_config(dir) || io_exists(dir, "log.txt") ||
                                                               io_exists(dir, "checkpoints"))));
}

char *run_of(const char *path)
{
    g_autofree char *parent = g_path_get_dirname(path), *name = g_path_get_basename(path);
    const char *dir = g_file_test(path, G_FILE_TEST_IS_DIR) ? path : strcmp(name, "config.yaml") == 0 ? parent : NULL;
    return dir && is_run(dir) ? g_strdup(dir) : NULL;
}

char *run_find(const char *path, GError **error)
{
    static const char advice[] = "give the folder that `loam train` made";
    char *dir = run_of(path);
    if (dir)
        return dir;
    if (io_refused(path, error))
        return NULL;
    g_autofree char *folder = g_strconcat("run.dir=", path, NULL), *word = text_shell_word(folder);
    if (!g_file_test(path, G_FILE_TEST_IS_DIR))
        fail_user(error, "%s is no run of loam: %s; %s", path,
                  g_file_test(path, G_FILE_TEST_EXISTS) ? "it is a file" : "there is no such folder", advice);
    else if (!run_has_config(path) && (io_exists(path, "checkpoints") || run_is_remnant(path)))
        fail_user(error, "%s is no whole run of loam: %s; `loam train CONFIG.yaml %s` writes it again", path,
                  io_exists(path, "config.yaml") ? "its config.yaml is empty" : "it has no config.yaml", word);
    else if (run_has_config(path) && io_exists(path, "lock"))
        fail_user(error, "%s is no run of loam: it has no checkpoints; `loam train CONFIG.yaml %s` starts it over",
                  path, word);
    else
        fail_user(error, "%s is no run of loam: it has no checkpoints; %s", path, advice);
    return NULL;
}

static int by_run_name(gconstpointer a, gconstpointer b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* Whether one of the folders is the one that PATH leads to. */
static bool has_folder(const GPtrArray *dirs, const char *path)
{
    const RunFolder sought = run_folder(path);
    for (guint i = 0; i < dirs->len; i++) {
        const RunFolder folder = run_folder(dirs->pdata[i]);
        if (folder.device == sought.device && folder.inode == sought.inode)
            return true;
    }
    return false;
}

/* Adds the run in `path`, or else `path` to `remnants` if it is what is left of one. Returns whether there is a run. */
static bool take_run(GPtrArray *dirs, GPtrArray *remnants, const char *path, bool *remnant)
{
    char *run = run_of(path);
    *remnant = run == NULL && remnants && run_is_remnant(path);
    if (run || *remnant)
        g_ptr_array_add(run ? dirs : remnants, run ? run : g_strdup(path));
    return run != NULL;
}

/* Whether a folder of this name in a run, or in what is left of one, is its own: what a rollback or a new start set
 * aside there looks like a run. */
static bool is_own_folder(const char *name)
{
    static const char *const own[] = { "checkpoints", HEARTBEAT_FOLDER, "rollback", "tmp-rollback",
                                       "spikes",      "task",           "tb",       NULL };
    return g_strv_contains(own, name) || g_str_has_prefix(name, "before-");
}

/* Links directly in the folder that the user named count if they lead to runs that are not found without them, unless
 * that folder is a run. In the folders of a run no remnants are looked for: they may hold copies of its files. */
static void find_below(GPtrArray *dirs, GPtrArray *remnants, const char *path, int deep)
{
    bool remnant, ignored;
    const bool run = take_run(dirs, remnants, path, &remnant);
    g_autoptr(GDir) folder = deep > 0 ? g_dir_open(path, 0, NULL) : NULL;
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free), links = g_ptr_array_new_with_free_func(g_free);
    const char *name;
    while (folder && (name = g_dir_read_name(folder)))
        if (*name != '.' && !((run || remnant) && is_own_folder(name)))
            g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, by_run_name);
    for (guint i = 0; i < names->len; i++) {
        g_autofree char *inner = g_build_filename(path, names->pdata[i], NULL);
        const bool link = g_file_test(inner, G_FILE_TEST_IS_SYMLINK);
        if (link && deep == MOST_DEEP && !run)
            g_ptr_array_add(links, g_steal_pointer(&inner));
        else if (!link && g_file_test(inner, G_FILE_TEST_IS_DIR))
            find_below(dirs, run ? NULL : remnants, inner, deep - 1);
    }
    for (guint i = 0; i < links->len; i++)
        if (!has_folder(dirs, links->pdata[i]) && !(remnants && has_folder(remnants, links->pdata[i])))
            take_run(dirs, remnants, links->pdata[i], &ignored);
}

void run_find_below(GPtrArray *dirs, GPtrArray *remnants, const char *path)
{
    g_autofree char *plain = g_strdup(path);
    for (size_t end = strlen(plain); end > 1 && plain[end - 1] == '/'; end--)
        plain[end - 1] = '\0';
    find_below(dirs, remnants, plain, MOST_DEEP);
}

void run_keep_once(GPtrArray *dirs)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, free, NULL);
    for (guint i = 0; i < dirs->len;) {
        char *real = realpath(dirs->pdata[i], NULL);
        if (real == NULL || g_hash_table_add(seen, real))
            i++;
        else
            g_ptr_array_remove_index(dirs, i);
    }
}

void run_warn_of_remnants(const GPtrArray *remnants)
{
    for (guint i = 0; i < remnants->len; i++) {
        g_autoptr(GError) problem = NULL;
        g_autofree char *run = run_find(remnants->pdata[i], &problem);
        if (run == NULL)
            log_warning("%s", problem->message);
    }
}

/* Whether the system refuses this user what the status of a run is read from; *error then says so. */
static bool is_refused(const char *dir, GError **error)
{
    g_autofree char *checkpoints = g_build_filename(dir, "checkpoints", NULL),
                    *metrics = g_build_filename(dir, "metrics.jsonl", NULL);
    return io_refused(checkpoints, error) || io_refused(metrics, error);
}

GPtrArray *run_find_each(GPtrArray *remnants, char *const *paths, int n, const char *usage, GError **error)
{
    g_autoptr(GPtrArray) dirs = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < n; i++) {
        const guint before = dirs->len, left = remnants->len;
        run_find_below(dirs, remnants, paths[i]);
        if (dirs->len == before) { /* run_find fails, and says what is missing there */
            g_autofree char *first =
                left < remnants->len ? g_ptr_array_steal_index(remnants, left) : g_strdup(paths[i]);
            g_free(run_find(first, error));
            return NULL;
        }
        for (guint k = before; k < dirs->len; k++)
            if (is_refused(dirs->pdata[k], error))
                return NULL;
    }
    run_keep_once(dirs);
    run_keep_once(remnants);
    if (n > 0)
        return g_steal_pointer(&dirs);
    return fail_user(error, "give a run; usage: %s", usage);
}
