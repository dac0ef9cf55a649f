/* trainer.h: trains a model in a run directory, from an empty or unfinished run to its last checkpoint. */
#pragma once

#include "run/config/config.h"
#include "train/rollback.h"

/* Trains until train.length, starting from the newest undamaged checkpoint of run.dir if there is one. After a request
 * to stop (stop.h), or if a StopRule says so, it saves a checkpoint and fails with LOAM_ERROR_STOPPED. trace: file to
 * which a trace (trace.h) of the second step of this process is written, or of the first step if there is only one;
 * NULL means none. */
bool train_run(const Config *config, const char *trace, GError **error);
/* Catches signals (stop_catch_signals), then calls launch_agree, which starts MPI: in this order MPI's threads have the
 * signals blocked, too. To be called before train_run by every process that a launcher may have started, also if it
 * could not load its configuration. */
bool train_agree(const Config *config, bool loaded, GError **error);
