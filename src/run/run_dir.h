/* run_dir.h: the files of a run directory and their names: config.yaml, log.txt, metrics.jsonl, tb/, lock, a copy of
 * the tokenizer, checkpoints/step-XXXXXXXX and the links checkpoints/latest and checkpoints/best. */
#pragma once

#include "base/error.h"

#include <glib.h>
#include <stdint.h>

/* Whether the folder has a config.yaml; an empty one, which no run writes, counts as none. */
bool run_has_config(const char *dir);
/* Fails if `dir` is a folder that contains files but is not a run directory, so that a run cannot mix with or replace
 * them, or if a file that the run would open there is a FIFO, a socket or a disk. */
bool run_check_folder(const char *dir, GError **error);
/* Creates the directory and locks it until lock_release(*lock) or the process's end. Fails if it is locked. */
bool run_lock(const char *dir, int *lock, GError **error);

/* Which folder a run directory is, whatever its name: its device and inode. */
typedef struct RunFolder {
    uint64_t device, inode;
} RunFolder;
/* The folder that `dir` names; zeros if there is none. */
RunFolder run_folder(const char *dir);
/* Fails, as a machine's error, if `dir` names another folder than `folder`, or none: it was renamed, deleted or
 * replaced while the run trained. If only the lock file was deleted, it is made and locked again; it is an error if
 * another process was faster. */
bool run_check_here(const char *dir, const RunFolder *folder, int *lock, GError **error);
/* The error of run_check_here, for ranks that were told of it. */
bool run_fail_moved(const char *dir, GError **error);

/* Path of the checkpoint of a step: DIR/checkpoints/step-00001000. g_free. */
char *run_checkpoint_path(const char *dir, int64_t step);
/* Steps that have a checkpoint folder, newest first: a GArray of int64_t. */
GArray *run_checkpoints(const char *dir);

/* Opens the checkpoint in `folder`. context: the argument of run_open_newest or checkpoint_open. */
typedef bool (*RunOpenFn)(const char *folder, void *context, GError **error);
/* Calls `open` for the checkpoints of a run, newest first, until it succeeds; after an error of domain
 * CHECKPOINT_DAMAGED, which is logged as a warning, the next older one is tried. If none is valid and the run has saved
 * a newer one meanwhile, they are tried again. A folder whose name is not the step of its state counts as damaged.
 * *step becomes the step of the opened checkpoint, or -1 if the run has none. Fails if all are damaged, if there is
 * none but DIR/checkpoints and links or metrics.jsonl tell of one, or if `open` fails with another error. */
bool run_open_newest(const char *dir, RunOpenFn open, void *context, int64_t *step, GError **error);
/* The step of the last saved checkpoint if it is missing: the link "latest" names it or, without that link and any
 * checkpoint, the link "best" or the last save in metrics.jsonl. -1 means none. */
int64_t run_lost_save(const char *dir);
/* Renames checkpoints after `step` to damaged-step-XXXXXXXX, so that a run that resumes from `step` ignores them. */
bool run_set_aside(const char *dir, int64_t step, GError **error);
/* Points the link DIR/checkpoints/NAME, which is latest or best, at the checkpoint of a step. A folder in its place is
 * renamed to copied-NAME. If no link can be made, as on some file systems, the first failure is a warning. */
void run_link(const char *dir, const char *name, int64_t step);
/* Removes the link, if there is one. A folder in its place is renamed to copied-NAME. */
bool run_unlink(const char *dir, const char *name, GError **error);
/* The step of the checkpoint that DIR/checkpoints/NAME links to or, without it, that checkpoints say; -1 is none. */
int64_t run_linked(const char *dir, const char *name);
/* DIR/checkpoints/NAME or, without such a link, the folder that it would point at. g_free. */
char *run_linked_path(const char *dir, const char *name);
/* Removes unfinished checkpoint folders, which interrupted saves left behind. */
bool run_remove_unfinished(const char *dir, GError **error);
/* Whether the run used train.best or train.patience. */
bool run_wants_best(const char *dir);
/* Whether the path of a run means its best checkpoint rather than its last one: true if run_wants_best and that
 * checkpoint exists. RUN@latest always means the last. */
bool run_means_best(const char *dir);
/* Which checkpoints run_retain keeps. */
typedef struct RunKeep {
    int64_t last, every; /* the newest `last` ones, and those at multiples of `every` steps; every 0 means none */
    int64_t best;        /* of those that were the best when they were saved, the newest `best` ones */
    int64_t steps[8];    /* the checkpoints of these steps; -1 means none */
} RunKeep;
/* Removes all other checkpoints, and unfinished folders. A folder whose name is not its step stays, uncounted. */
bool run_retain(const char *dir, const RunKeep *keep, GError **error);

/* ---- run_find.c: finds the run directories that paths name, and what is left of runs ---- */

/* The run directory that PATH names; the directory, or the config.yaml in it. NULL if PATH is neither. g_free. */
char *run_of(const char *path);
/* As run_of, but a path that is no run directory is an error, which says what is missing there. */
char *run_find(const char *path, GError **error);
/* Whether the folder is a run's but no run directory: it lost config.yaml or checkpoints, or never had them. */
bool run_is_remnant(const char *dir);
/* Adds the run directory (char *) that PATH names to `dirs`, and those of all runs in the folders below it, such as the
 * runs of a sweep, sorted by name; then, unless PATH is a run, those that links directly in it lead to. Remnants of
 * runs that are found on the way, outside of runs, are added to `remnants`, unless that is NULL. */
void run_find_below(GPtrArray *dirs, GPtrArray *remnants, const char *path);
/* Removes folders that are the same as one before them, by another path or a link. */
void run_keep_once(GPtrArray *dirs);
/* Warns of each remnant by its name, and says what is missing there. */
void run_warn_of_remnants(const GPtrArray *remnants);
/* The run directories of all paths, by run_find_below, each once. Fails unless there is a path, and each has a run; the
 * error names the first remnant of a path without a run, which is then not in `remnants`. */
GPtrArray *run_find_each(GPtrArray *remnants, char *const *paths, int n, const char *usage, GError **error);
