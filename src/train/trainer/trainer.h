/* trainer.h: trains a model in a run directory, from an empty or unfinished run to its last checkpoint. */
#pragma once

#include "train/config/config.h"

/* Trains until train.length, starting from the newest undamaged checkpoint of run.dir if there is one. When SIGTERM,
 * SIGUSR1, SIGHUP or SIGINT asks to stop, saves and returns an error of code LOAM_ERROR_STOPPED. trace: a file for the
 * operations of the second step of this process (trace.h), or of the first where it makes only one; NULL means none. */
bool train_run(const Config *config, const char *trace, GError **error);
