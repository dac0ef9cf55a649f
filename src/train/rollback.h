/* rollback.h: puts a run back to one of its checkpoints, reversibly until the run saves again. Everything that is taken
 * from the run lies in RUN/rollback/: later checkpoints, and metrics.jsonl, train_inner.jsonl, config.yaml, tb/,
 * spikes/ and the run's metrics in a store of MLflow, as they were before the rollback. A rollback or its reversal that
 * was interrupted is completed by the next command that opens the run for writing, and nothing is lost. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Puts the run in `dir`, which no process may be training, back to the checkpoint of `step`. Fails if this checkpoint
 * does not exist or is damaged; then nothing is changed. */
bool rollback_to(const char *dir, int64_t step, GError **error);
/* Undoes all rollbacks since the last save of the run. Fails if there were none. */
bool rollback_undo(const char *dir, GError **error);
/* Completes what was interrupted. The caller holds the lock of the run. */
bool rollback_finish(const char *dir, GError **error);
/* Makes rollbacks final: removes RUN/rollback. The trainer calls it after a save. */
bool rollback_forget(const char *dir, GError **error);
