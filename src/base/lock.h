/* lock.h: a lock file that one process holds at a time. */
#pragma once

#include <glib.h>

typedef enum LockResult {
    LOCK_FAILED, /* the file cannot be opened; *error is set */
    LOCK_HELD,   /* this process holds the lock until lock_release, or until it ends */
    LOCK_TAKEN   /* another process holds it */
} LockResult;

/* Locks a file, which is created if missing, with flock or, on file systems that refuse flock, with fcntl. If the file
 * system refuses both, a warning is logged, and the host name and process id in the file decide: the lock is taken if
 * that process still runs on this host; processes of other hosts are not noticed. *lock becomes a descriptor for
 * lock_release with LOCK_HELD, otherwise -1. */
LockResult lock_file(const char *path, int *lock, GError **error);
void lock_release(int lock); /* -1 is ignored */
