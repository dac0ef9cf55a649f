/* file.h: files that survive a crash. Every system call that can lose data goes through io_*(), which the tests can
 * make fail at its n-th use. Errors are GErrors that name the path. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct IoFile IoFile; /* a file being written */

IoFile *io_create(const char *path, GError **error); /* truncates; buffered */
/* A new file beside PATH, of a name that nothing else has: PATH.RANDOM.tmp. g_free(*temporary). */
IoFile *io_create_beside(const char *path, char **temporary, GError **error);
IoFile *io_append(const char *path, GError **error);
bool io_write(IoFile *file, const void *data, size_t bytes, GError **error);
/* After a failure the file ends where the last io_flush left it, and writing may go on: a record that is flushed as a
 * whole is there as a whole or not at all. */
bool io_flush(IoFile *file, GError **error);
bool io_close(IoFile *file, bool sync, GError **error); /* always frees; sync: fsync before closing */
void io_abort(IoFile *file);                            /* closes without a word */
bool io_rename(const char *from, const char *to, GError **error);
bool io_sync_directory(const char *path, GError **error);
bool io_make_directories(const char *path, GError **error);
bool io_remove_file(const char *path, GError **error); /* fine if absent; a folder is an error */
bool io_remove_tree(const char *path, GError **error); /* a file, a link or a whole folder; fine if absent */
/* To write a folder so that what has its name is whole: make an empty folder beside PATH, of a name that nothing else
 * has (tmp-NAME-RANDOM; PATH's parents are made too), write into it, sync it, swap it in; when that fails, remove it.
 * Where PATH is a link, the folder that it leads to is meant. g_free. */
char *io_make_folder_beside(const char *path, GError **error);
/* Gives the folder FRESH the name PATH; a folder that has that name is removed afterwards. At any time PATH is the old
 * folder or the new one; only on a file system that cannot exchange two names is it absent for a moment. On failure
 * before the swap PATH is as it was. */
bool io_swap_in(const char *fresh, const char *path, GError **error);
/* Points a symbolic link at `target` in one step: a new link is made beside it and renamed over. */
bool io_replace_link(const char *link, const char *target, GError **error);
/* The whole file, refused above `limit` bytes, or where it is a Git LFS pointer. *bytes may be NULL. A NUL is put after
 * the end. g_free. */
char *io_read_file(const char *path, size_t limit, size_t *bytes, GError **error);
/* Whether io_write_file could write PATH: to be asked before a long job, not after it. Leaves nothing behind. */
bool io_check_writable(const char *path, GError **error);
/* Writes a new file beside PATH, syncs it, renames it over PATH. */
bool io_write_file(const char *path, const void *data, size_t bytes, GError **error);

/* Tests: the n-th call (1 = the next) of any io_ function that touches the disk fails with this errno; n = 0: none
 * fails, -1: all do. */
void io_fail_at(int n, int error_number);
int io_calls(void); /* calls since io_fail_at */
/* For other files of this floor: counts one system call; true, with errno set, if it is the one that must fail. */
bool io_rigged(const char *name);
