/* train.h: trains a model in a run directory, from an empty or unfinished run to its last checkpoint. */
#pragma once

#include "run/config/config.h"

/* Trains until train.length, starting from the newest undamaged checkpoint of run.dir if there is one. After a request
 * to stop (trainer.h), or if a StopRule says so, it saves a checkpoint and fails with LOAM_ERROR_STOPPED. trace: file
 * for a trace (trace.h) of this process's second step, or its first if there is only one; NULL means none. *ignored, if
 * not NULL, becomes an option that differs from those of a run that had ended, and so has no effect, "optim.lr changed
 * from 0.1 to 0.2"; g_free. */
bool train_run(const Config *config, const char *trace, char **ignored, GError **error);
/* Catches signals (stop_catch_signals), then calls launch_agree, which starts MPI: in this order MPI's threads have the
 * signals blocked, too. To be called before train_run by every process that a launcher may have started, also if it
 * could not load its configuration. */
bool train_agree(const Config *config, const char *switches, bool loaded, GError **error);

/* ---- rollback.c: puts a run back to one of its checkpoints, reversibly until the run saves again. Everything that is
 * taken from the run lies in RUN/rollback/: later checkpoints, and config.yaml, what services write (services_written)
 * and the run's metrics in a store of MLflow, as they were before the rollback. A rollback or its reversal that was
 * interrupted is completed by the next command that opens the run for writing, and nothing is lost. ---- */

/* Puts the run in `dir`, which no process may be training, back to the checkpoint of `step`. Fails if this checkpoint
 * does not exist or is damaged; then nothing is changed. */
bool rollback_to(const char *dir, int64_t step, GError **error);
/* Undoes all rollbacks since the last save of the run. Fails if there were none. */
bool rollback_undo(const char *dir, GError **error);
/* Completes what was interrupted. The caller holds the lock of the run. */
bool rollback_finish(const char *dir, GError **error);
/* Makes rollbacks final: removes RUN/rollback. The trainer calls it after a save. */
bool rollback_forget(const char *dir, GError **error);
