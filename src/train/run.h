/* run.h: the run directory: config.yaml, log.txt, metrics.jsonl, tb/, checkpoints/step-XXXXXXXX, latest, best, and the
 * copy of the tokenizer that makes it whole. */
#pragma once

#include "train/checkpoint.h"
#include "train/config.h"

/* Path of the checkpoint of a step: DIR/checkpoints/step-00001000. g_free. */
char *run_checkpoint_path(const char *dir, int64_t step);
/* Steps that have a checkpoint folder, newest first: a GArray of int64_t. */
GArray *run_checkpoints(const char *dir);
/* *step: the newest checkpoint whose files are whole, -1 if the run has none at all. Damaged ones are named in
 * warnings; an error where there are checkpoints and none is whole, or where the disk cannot be read. */
bool run_newest_sound(const char *dir, int64_t *step, GError **error);
/* Renames the checkpoints above `step` to damaged-*: a run that goes on from `step` must not count them, nor lose them.
 */
bool run_set_aside(const char *dir, int64_t step, GError **error);

/* Makes the directory and locks it until the process ends; an error where another process holds it. */
bool run_lock(const char *dir, GError **error);
/* The run that a path names: its directory, or the config.yaml in it. g_free; NULL: the path names none. */
char *run_of(const char *path);
/* Loads a configuration file, a run by its directory, or the config.yaml in it. A run that is moved or named from
 * another folder stays itself: run.dir is where it lies, and the tokenizer is its own, unless the overrides say
 * otherwise. config as for config_load. */
bool run_config_load(Config *config, const char *path, char **overrides, int n_overrides, GError **error);
/* Where the directory holds a configuration, IDENTITY options must agree with this one (an error names the first
 * difference, both values and what to do). Datasets may lie elsewhere than before. Changes are logged, and added to
 * `changes` (of char *, g_free) as sentences. */
bool run_check(const Config *config, GPtrArray *changes, GError **error);
/* Saves config.yaml, with paths that hold from any folder, and the tokenizer. */
bool run_write_config(const Config *config, const Tokenizer *tok, GError **error);
/* Points DIR/checkpoints/NAME at the checkpoint of a step. */
bool run_link(const char *dir, const char *name, int64_t step, GError **error);
/* Removes the folders that interrupted saves left behind. */
bool run_remove_unfinished(const char *dir, GError **error);
/* Removes checkpoints beyond keep_last, except multiples of keep_every, `best` and what is left of interrupted saves.
 */
bool run_retain(const char *dir, int64_t keep_last, int64_t keep_every, int64_t best, GError **error);
