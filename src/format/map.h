/* map.h: files opened or mapped read-only. A pointer file of Git LFS is an error. */
#pragma once

#include "base/error.h"

/* An empty file gives a mapping of length 0. Free with g_mapped_file_unref. */
GMappedFile *map_file(const char *path, GError **error);
/* A file descriptor, which the caller closes, and the file's size; -1 with an error where it is no regular file. */
int open_regular(const char *path, size_t *bytes, GError **error);
