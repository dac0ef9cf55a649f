/* git_lfs.h: recognises Git LFS pointers: small text files that Git leaves in place of large files when a repository is
 * cloned without Git LFS. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* Whether a file that starts with these bytes is a Git LFS pointer. */
bool git_lfs_is_pointer(const void *data, size_t bytes);
/* Sets a user's error which says that the file is a Git LFS pointer; returns false. */
bool git_lfs_fail(const char *path, GError **error);
