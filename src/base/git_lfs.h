/* git_lfs.h: the small text files that a repository cloned without Git LFS has in place of its large files. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* Whether a file that begins with these bytes is such a pointer. */
bool git_lfs_is_pointer(const void *data, size_t bytes);
/* The user's error for one: false. */
bool git_lfs_fail(const char *path, GError **error);
