/* map.h: opens files for reading, or maps them into memory. A Git LFS pointer (base/git_lfs.h) is an error. */
#pragma once

#include "base/error.h"

/* Maps a file; an empty file gives a mapping of length 0. Free with g_mapped_file_unref. */
GMappedFile *map_file(const char *path, GError **error);
/* Opens a file for reading. Returns a file descriptor, which the caller closes, and sets *bytes to the file's size; -1
 * with an error if `path` is not a regular file. */
int open_regular(const char *path, size_t *bytes, GError **error);
