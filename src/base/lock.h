/* lock.h: a lock file that one process holds at a time. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef enum LockResult {
    LOCK_FAILED, /* the file cannot be opened; *error is set */
    LOCK_HELD,   /* this process holds the lock until lock_release, or until it ends */
    LOCK_TAKEN   /* another process holds it */
} LockResult;

/* Locks a file, which is created if missing, with flock or, on file systems that refuse flock, with fcntl. If the file
 * system refuses both, a warning is logged, and the host name and process id that the file holds decide: the lock is
 * taken (LOCK_TAKEN) if that process still runs on this host; a process on another host is not noticed. *lock becomes a
 * descriptor for lock_release if the result is LOCK_HELD, otherwise -1. */
LockResult lock_file(const char *path, int *lock, GError **error);
void lock_release(int lock); /* -1 is ignored */
/* Whether the lock file exists and no process holds it, as far as the file system can tell; takes no lock. */
bool lock_is_free(const char *path);
/* Whether a process holds the lock, as far as the file system can tell; takes no lock. */
bool lock_is_held(const char *path);
/* Locks an open file until it is closed, without writing to it: LOCK_TAKEN or LOCK_HELD, also if there are no locks. */
LockResult lock_open_file(int file);
