/* lock.h: a lock file that one process holds at a time. */
#pragma once

#include <glib.h>

typedef enum LockResult {
    LOCK_FAILED, /* the file cannot be opened; *error is set */
    LOCK_HELD,   /* this process holds the lock until lock_release, or until it ends */
    LOCK_TAKEN   /* another process holds it */
} LockResult;

/* Locks a file, which is created if missing, with flock or, on file systems that refuse flock, with fcntl. Where both
 * are refused (a warning says so) the host and process id in the file decide: the lock is held if that process runs on
 * this host. Processes of other hosts are then not noticed. *lock is for lock_release where the lock is held, else -1.
 */
LockResult lock_file(const char *path, int *lock, GError **error);
void lock_release(int lock); /* -1 is ignored */
