/* file.h: writes, reads and copies files. io_write_file, io_create_beside and io_swap_in see to it that a crash or a
 * full disk never leaves a half-written file under its final name. Tests can make any single system call of the
 * functions io_* fail. Error messages name the path. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct IoFile IoFile; /* a file being written */

IoFile *io_create(const char *path, GError **error); /* creates or truncates a file for writing; writes are buffered */
/* Creates a temporary file PATH.RANDOM.tmp for writing, for io_publish or io_discard. It is an error if PATH is a
 * device or a FIFO, which renaming would replace. */
IoFile *io_create_beside(const char *path, GError **error);
/* A file without a name in a folder, to write and read; gone when closed. io_scratch returns a descriptor, or -1. */
IoFile *io_create_scratch(const char *folder, GError **error);
int io_scratch(const char *folder, GError **error);
/* Removes the temporary files that killed processes left in a folder. No other process may be writing there. */
void io_remove_temporaries(const char *folder);
/* Opens a file for writing at its end; creates it if missing. */
IoFile *io_append(const char *path, GError **error);
/* If a file of io_append has lost its name since, as by logrotate or rm, opens the name in the same folder again, which
 * makes a new file, and returns a warning that says so; g_free. A folder that was renamed since is followed. NULL: the
 * file has its name, or none can be made; it is written on. Nothing may be left in the buffer. */
char *io_append_again(IoFile *file);
/* Appends bytes to the buffer of the file, which is written when it is full. */
bool io_write(IoFile *file, const void *data, size_t bytes, GError **error);
/* Overwrites bytes from position `at` on, which have been written. */
bool io_patch(IoFile *file, int64_t at, const void *data, size_t bytes, GError **error);
/* Passes all buffered bytes to the operating system. After a failed write or flush the file is cut back to its length
 * at the last successful io_flush, and writing may continue: none of the bytes since then are in the file. A crash may
 * leave some of them. */
bool io_flush(IoFile *file, GError **error);
bool io_sync(IoFile *file, GError **error);             /* io_flush, then fsync */
bool io_close(IoFile *file, bool sync, GError **error); /* frees `file` even on failure; sync: fsync first */
/* Syncs a file that has been written under a temporary name and renames it to `to`. Fails, and leaves `to` as it is, if
 * that name leads to another file by now: then another program has removed or replaced the folder. Frees `file` even on
 * failure, after io_discard. */
bool io_publish(IoFile *file, const char *to, GError **error);
/* io_abort, and removes the file unless its name leads to another one. NULL is ignored. */
void io_discard(IoFile *file);
/* Maps what has been written to a file of io_create_scratch. Free with g_mapped_file_unref. */
GMappedFile *io_map(IoFile *file, GError **error);
/* Whether the path leads to the open file. */
bool io_is_named(int fd, const char *path);
void io_abort(IoFile *file); /* closes the file and frees `file`, ignoring errors; NULL is ignored */
bool io_rename(const char *from, const char *to, GError **error);
/* Syncs a folder, so that new and renamed files in it survive a crash. */
bool io_sync_directory(const char *path, GError **error);
/* Creates a folder and its parents; an existing folder is no error, one called ~ is. */
bool io_make_directories(const char *path, GError **error);
/* The folders that io_make_directories(PATH) would make, the deepest first. Free with g_ptr_array_unref. */
GPtrArray *io_missing_folders(const char *path);
/* Removes those of the folders that exist and are empty, as those made for an output that could not be written. */
void io_remove_empty(const GPtrArray *folders);
/* Removes a file; no error if it is missing; a folder is an error. */
bool io_remove_file(const char *path, GError **error);
/* Removes a file, a link, or a folder with its content; no error if missing. */
bool io_remove_tree(const char *path, GError **error);
/* Creates an empty folder tmp-NAME-RANDOM in the parent folder of PATH, which is created if missing, and returns its
 * path; free with g_free. The caller writes into the new folder, syncs it, then calls io_swap_in, which replaces the
 * folder PATH as a whole; on failure the caller removes the new folder. If PATH is a symbolic link, it is followed. */
char *io_make_folder_beside(const char *path, GError **error);
/* Renames the folder `fresh` to PATH and removes the folder that had this name. At any moment PATH is either the old or
 * the new folder; only on file systems that cannot exchange two names it is missing for an instant. On failure PATH is
 * unchanged, unless syncing the parent folder or removing the old one failed: then PATH is the new one. */
bool io_swap_in(const char *fresh, const char *path, GError **error);
/* Makes `link` a symbolic link to `target`, atomically: a new link is created and renamed over the old one. */
bool io_replace_link(const char *link, const char *target, GError **error);
/* Reads a whole file and adds a NUL after its content. A file of more than `limit` bytes, or a Git LFS pointer, is an
 * error. *bytes becomes the length without the NUL; `bytes` may be NULL. Free with g_free. */
char *io_read_file(const char *path, size_t limit, size_t *bytes, GError **error);
/* As io_read_file; a path to no regular file is a user's error, as reading a FIFO may never return. */
char *io_read_regular(const char *path, size_t limit, size_t *bytes, GError **error);
/* Reads the next line of a file, with its newline; at the end of the file `line` becomes empty. Fails at a line of more
 * than 64 MiB, without reading on, and if the file cannot be read. */
bool io_read_line(GString *line, FILE *file, GError **error);
/* Maps a file; empty ones have length 0. A Git LFS pointer is an error. Free with g_mapped_file_unref. */
GMappedFile *io_map_file(const char *path, GError **error);
/* Opens a file for reading. Returns a file descriptor, which the caller closes, and sets *bytes to the file's size; -1
 * with an error if `path` is not a regular file, or is a Git LFS pointer. */
int io_open_regular(const char *path, size_t *bytes, GError **error);
/* Size of an open regular file in bytes; 0 for anything else, such as a pipe. To be called after opening it. */
uint64_t io_size(int fd);
/* For the reader of a file at its end, after `done` bytes: fails if the file had more bytes (`size`, by io_size), since
 * another process has cut it and the rest is lost. */
bool io_check_whole(const char *path, uint64_t done, uint64_t size, GError **error);
/* Whether a file that starts with these bytes is a Git LFS pointer: a small text file that Git leaves in place of a
 * large one when a repository is cloned without Git LFS. io_holds_lfs_pointer asks an open file; io_fail_lfs_pointer
 * sets the user's error and returns false. */
bool io_is_lfs_pointer(const void *data, size_t bytes);
bool io_holds_lfs_pointer(int fd);
bool io_fail_lfs_pointer(const char *path, GError **error);
/* Copies a file and syncs the copy; one that does not exist is no error. */
bool io_copy_file(const char *from, const char *to, GError **error);
/* Copies the regular files of a folder and of the folders in it, at most 8 levels deep, and syncs each. Files that `to`
 * has already are replaced, others stay. A folder that does not exist is no error. */
bool io_copy_tree(const char *from, const char *to, GError **error);
/* The path that PATH leads to through symbolic links, whether a file exists there or not. Outputs are renamed to this
 * path, so that a symbolic link that the user names stays a link. Free with g_free. */
char *io_follow_links(const char *path);
/* Whether the system refuses this user the file or folder PATH, or a folder on the way to it; *error then says so, as a
 * machine's error: what cannot be looked at may be whole. */
bool io_refused(const char *path, GError **error);
/* The names in FOLDER that end in SUFFIX and do not begin with a dot, without that end, sorted; char *, g_free. */
GPtrArray *io_list_names(const char *folder, const char *suffix, GError **error);
/* Whether a file or folder NAME exists in FOLDER. */
bool io_exists(const char *folder, const char *name);
/* Whether PATH lies directly in FOLDER; neither of them needs to exist. */
bool io_lies_in(const char *folder, const char *path);
/* Fails if io_write_file(PATH) would fail. To be called before a long job; leaves no file behind. */
bool io_check_writable(const char *path, GError **error);
/* Fails if PATH is a file of another kind than the output, which writing would destroy. Every file of the output's kind
 * begins with `start`; `what` names the kind in the message ("trace of loam"). Empty files, devices and FIFOs are no
 * error. */
bool io_check_replaces(const char *path, const char *start, const char *what, GError **error);
/* Fails if the output `written` is one of the n inputs `read`, by any name, since writing would destroy that input. */
bool io_check_apart(const char *written, char *const *read, int n, GError **error);
/* Writes a temporary file, syncs it and renames it to PATH, or to the file that PATH is a symbolic link to. A device, a
 * FIFO, and the file that standard output or error goes to, are written directly. */
bool io_write_file(const char *path, const void *data, size_t bytes, GError **error);

/* For tests: the n-th system call from now on (1: the next) fails with this errno; n 0 means none, -1 that all do. */
void io_fail_at(int n, int error_number);
int io_calls(void); /* number of system calls since io_fail_at */
/* For other files of src/base, to be called before a system call: counts the call. Returns true, with errno set, if
 * io_fail_at wants the call to fail. `name` is its fault point (fault.h). */
bool io_rigged(const char *name);
