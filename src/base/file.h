/* file.h: writing and reading files such that a crash or a full disk never leaves a half-written file under its final
 * name. Every system call that can lose data goes through io_*(), and tests can make any one of these calls fail.
 * Errors name the path. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct IoFile IoFile; /* a file being written */

IoFile *io_create(const char *path, GError **error); /* buffered; an existing file is truncated */
/* Creates a file of a new name in the same folder: *temporary = PATH.RANDOM.tmp, g_free. A PATH that is a device or a
 * FIFO is an error: renaming to it would replace it. */
IoFile *io_create_beside(const char *path, char **temporary, GError **error);
/* Opens a file for writing at its end; creates it if missing. */
IoFile *io_append(const char *path, GError **error);
bool io_write(IoFile *file, const void *data, size_t bytes, GError **error);
/* Hands everything to the system. After a failed write or flush the file is cut back to its length at the last
 * successful io_flush, and writing may go on: a record between two flushes is in the file as a whole or not at all. */
bool io_flush(IoFile *file, GError **error);
bool io_close(IoFile *file, bool sync, GError **error); /* frees in any case; with `sync`, fsync first */
void io_abort(IoFile *file);                            /* closes and frees, ignoring errors; NULL is ignored */
bool io_rename(const char *from, const char *to, GError **error);
bool io_sync_directory(const char *path, GError **error);
bool io_make_directories(const char *path, GError **error);
bool io_remove_file(const char *path, GError **error); /* no error if missing; a folder is an error */
bool io_remove_tree(const char *path,
                    GError **error); /* a file, a link or a folder with all its content; no error if missing */
/* Creates an empty folder tmp-NAME-RANDOM in the folder that is to hold PATH (which is created too if missing), and
 * returns its path, g_free. Writing into it, syncing it and then calling io_swap_in replaces the folder PATH as a
 * whole; on failure the caller removes it. A symbolic link PATH is followed. */
char *io_make_folder_beside(const char *path, GError **error);
/* Renames the folder `fresh` to PATH and removes the folder that had this name. At any moment PATH is the old folder or
 * the new one; on file systems that cannot exchange two names it is missing for an instant. On failure PATH is
 * unchanged. */
bool io_swap_in(const char *fresh, const char *path, GError **error);
/* Makes `link` a symbolic link to `target`, atomically: a new link is created and renamed over the old one. */
bool io_replace_link(const char *link, const char *target, GError **error);
/* The whole content of a file, and a NUL after it. An error above `limit` bytes and for a Git LFS pointer. `bytes` may
 * be NULL. g_free. */
char *io_read_file(const char *path, size_t limit, size_t *bytes, GError **error);
/* The file that PATH leads to through symbolic links, whether it exists or not: what replaces PATH by renaming goes
 * there, as everything does that a user names as an output. g_free. */
char *io_follow_links(const char *path);
/* Whether a file or folder NAME lies in FOLDER. */
bool io_exists(const char *folder, const char *name);
/* Whether FOLDER is the folder of PATH; neither need exist. */
bool io_lies_in(const char *folder, const char *path);
/* Fails if io_write_file(PATH) would: to be called before a long job. It leaves no file behind. */
bool io_check_writable(const char *path, GError **error);
/* Fails if PATH is a file whose content does not begin with `start`, as every WHAT that loam writes does ("trace of
 * loam"): writing would destroy a file of another kind. An empty file passes, and so do devices and FIFOs. */
bool io_check_replaces(const char *path, const char *start, const char *what, GError **error);
/* Fails if `written` is one of the n files `read`, under this or another name, since writing would destroy it. */
bool io_check_apart(const char *written, char *const *read, int n, GError **error);
/* Writes a temporary file, syncs it and renames it to PATH, or to the file that PATH is a symbolic link to. A device, a
 * FIFO, and the file that standard output or error goes to, are written directly. */
bool io_write_file(const char *path, const void *data, size_t bytes, GError **error);

/* For tests: the n-th system call from now on (1 is the next) fails with this errno; 0 means none fails, -1 all do. */
void io_fail_at(int n, int error_number);
int io_calls(void); /* system calls since io_fail_at */
/* For other files in base: counts a system call; true, with errno set, if it has to fail. `name` is its fault point. */
bool io_rigged(const char *name);
