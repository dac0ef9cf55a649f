/* disk_room.h: whether a checkpoint fits on the disk, checked before the first step. */
#pragma once

#include "base/error.h"

/* Removes what interrupted saves left in the run directory DIR, then fails unless its file system has `bytes` free: the
 * size of a checkpoint. */
bool disk_room_check(const char *dir, size_t bytes, GError **error);
