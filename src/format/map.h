/* map.h: whole files opened or mapped read-only; pointers of Git LFS are refused. */
#pragma once

#include "base/error.h"

/* An empty file gives a mapping of length 0. Free with g_mapped_file_unref. */
GMappedFile *map_file(const char *path, GError **error);
/* A descriptor to close, and the file's size; -1 on an error. */
int open_regular(const char *path, size_t *bytes, GError **error);
