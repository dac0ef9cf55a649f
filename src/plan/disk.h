/* disk.h: the space that the checkpoints of a run take. */
#pragma once

#include "run/config/config.h"

/* The most checkpoints that a run has at one time: those that train.keep_* keep, and the one being written. steps:
 * length of the run; -1 means unknown, and leaves out those of train.keep_every. epoch_samples: as for config_steps.
 * evaluates: it has held-out data, and so a best checkpoint. Saves by train.save_within or a stop do not count. */
int64_t disk_checkpoints(const Config *config, int64_t steps, int64_t epoch_samples, bool evaluates);
/* "up to 4 checkpoints of 1.2 GiB: 4.8 GiB". g_free. */
char *disk_describe(int64_t checkpoints, size_t checkpoint_bytes);
/* Fails if a checkpoint of `bytes` does not fit on the disk of the run directory; warns if `checkpoints` of them, less
 * those that it has already, do not. A folder that does not exist yet stands for the nearest one that does. */
bool disk_check(const char *dir, int64_t checkpoints, size_t bytes, GError **error);
