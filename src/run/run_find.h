/* run_find.h: finds the run directories that paths name, and what is left of runs. */
#pragma once

#include "base/error.h"

#include <glib.h>

/* The run directory that PATH names; PATH is the directory, or the config.yaml in it. NULL if PATH is neither. g_free.
 * */
char *run_of(const char *path);
/* As run_of, but a path that is no run directory is an error, which says what is missing there. */
char *run_find(const char *path, GError **error);
/* Whether the folder holds what a run wrote, but is no run directory: it lost its config.yaml or its checkpoints, or
 * failed before it had them. */
bool run_is_remnant(const char *dir);
/* Adds the run directory (char *) that PATH names to `dirs`, or else those of all runs in the folders below it, such as
 * the runs of a sweep, sorted by name; then those that links directly in PATH lead to. Remnants of runs that are found
 * on the way are added to `remnants`, unless that is NULL. */
void run_find_below(GPtrArray *dirs, GPtrArray *remnants, const char *path);
/* Warns of each remnant by its name, and says what is missing there. */
void run_warn_of_remnants(const GPtrArray *remnants);
/* The run directories of all paths, by run_find_below. Fails unless there is a path, and each has a run; the error
 * names the first remnant of a path without a run, which is then not in `remnants`. */
GPtrArray *run_find_each(GPtrArray *remnants, char *const *paths, int n, const char *usage, GError **error);
