/* disk_room.h: room on the disk for checkpoints, known before the first step. */
#pragma once

#include "base/error.h"

/* Refuses where the file system of DIR has no room for one checkpoint of this many bytes: no save would succeed.
 * Removes what interrupted saves left there first. */
bool disk_room_check(const char *dir, size_t bytes, GError **error);
