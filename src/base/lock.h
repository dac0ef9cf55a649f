/* lock.h: a file that one process holds at a time. */
#pragma once

#include <glib.h>

typedef enum LockResult { LOCK_FAILED, LOCK_HELD, LOCK_TAKEN } LockResult;

/* Locks a file, made if absent, until the process ends: by flock, and on file systems that refuse it by fcntl. Where
 * neither is to be had the file says which process uses it, which is believed while that process lives on this machine;
 * a warning names what failed. LOCK_TAKEN: another process holds it; LOCK_FAILED: the file cannot be opened, see
 * *error. */
LockResult lock_file(const char *path, GError **error);
