/* file.h: writes and reads files so that a crash or a full disk never leaves a half-written file under its final name.
 * Every system call that can lose data goes through io_*(), and tests can make any one of these calls fail. Error
 * messages name the path. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct IoFile IoFile; /* a file being written */

IoFile *io_create(const char *path, GError **error); /* creates or truncates a file; writes are buffered */
/* Creates a file with a new name in the folder of PATH: *temporary = PATH.RANDOM.tmp, g_free. It is an error if PATH is
 * a device or a FIFO, which renaming would replace. */
IoFile *io_create_beside(const char *path, char **temporary, GError **error);
/* Opens a file for writing at its end; creates it if missing. */
IoFile *io_append(const char *path, GError **error);
bool io_write(IoFile *file, const void *data, size_t bytes, GError **error);
/* Passes all buffered bytes to the operating system. After a failed write or flush the file is cut back to its length
 * at the last successful io_flush, and writing may continue: what is written between two flushes is in the file as a
 * whole or not at all. */
bool io_flush(IoFile *file, GError **error);
bool io_close(IoFile *file, bool sync, GError **error); /* frees `file` even on failure; sync: fsync first */
void io_abort(IoFile *file);                            /* closes and frees, ignoring errors; NULL is ignored */
bool io_rename(const char *from, const char *to, GError **error);
bool io_sync_directory(const char *path, GError **error);
bool io_make_directories(const char *path, GError **error);
bool io_remove_file(const char *path,
                    GError **error); /* removes a file; no error if it is missing; a folder is an error */
bool io_remove_tree(const char *path,
                    GError **error); /* removes a file, a link, or a folder with its content; no error if missing */
/* Creates an empty folder tmp-NAME-RANDOM beside PATH (in its parent folder, which is created if missing) and returns
 * its path, g_free. Write into that folder, sync it, then call io_swap_in, which replaces the folder PATH as a whole;
 * on failure the caller removes the new folder. If PATH is a symbolic link, it is followed. */
char *io_make_folder_beside(const char *path, GError **error);
/* Renames the folder `fresh` to PATH and removes the folder that had this name. At any moment PATH is the old folder or
 * the new one, except on file systems that cannot exchange two names, where it is missing for an instant. On failure
 * PATH is unchanged. */
bool io_swap_in(const char *fresh, const char *path, GError **error);
/* Makes `link` a symbolic link to `target`, atomically: a new link is created and renamed over the old one. */
bool io_replace_link(const char *link, const char *target, GError **error);
/* Reads a whole file; a NUL follows its content. A file of more than `limit` bytes and a Git LFS pointer are errors.
 * *bytes becomes the length; `bytes` may be NULL. Free with g_free. */
char *io_read_file(const char *path, size_t limit, size_t *bytes, GError **error);
/* The path that PATH leads to through symbolic links, whether a file exists there or not. An output is replaced by
 * renaming to this path, so that a link that the user names stays a link. Free with g_free. */
char *io_follow_links(const char *path);
/* Whether a file or folder NAME exists in FOLDER. */
bool io_exists(const char *folder, const char *name);
/* Whether PATH lies directly in FOLDER; neither need exist. */
bool io_lies_in(const char *folder, const char *path);
/* Fails if io_write_file(PATH) would fail, to be called before a long job. It leaves no file behind. */
bool io_check_writable(const char *path, GError **error);
/* Fails if PATH is a file of another kind, which writing would destroy: its content does not begin with `start`, with
 * which every file of this kind begins. `what` names the kind in the message ("trace of loam"). Empty files, devices
 * and FIFOs pass. */
bool io_check_replaces(const char *path, const char *start, const char *what, GError **error);
/* Fails if `written` is one of the n files `read`, under the same or another name, since writing would destroy an
 * input. */
bool io_check_apart(const char *written, char *const *read, int n, GError **error);
/* Writes a temporary file, syncs it and renames it to PATH, or to the file that PATH is a symbolic link to. A device, a
 * FIFO, and the file that standard output or error goes to, are written directly. */
bool io_write_file(const char *path, const void *data, size_t bytes, GError **error);

/* For tests: the n-th system call from now on (1 is the next) fails with this errno; n 0 means that none fails, -1 that
 * all fail. */
void io_fail_at(int n, int error_number);
int io_calls(void); /* number of system calls since io_fail_at */
/* For other files of src/base: counts a system call. True, with errno set, means that the call has to fail
 * (io_fail_at). `name` is its fault point (fault.h). */
bool io_rigged(const char *name);
