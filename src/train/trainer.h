/* trainer.h: a run, from an empty or half-done run directory to its last checkpoint. */
#pragma once

#include "train/config.h"

/* Trains until train.length. Where the run directory holds checkpoints, goes on from the newest sound one. Ends with an
 * error of code LOAM_ERROR_STOPPED where SIGTERM, SIGUSR1 or SIGINT asked for it, after saving. */
bool train_run(const Config *config, GError **error);
