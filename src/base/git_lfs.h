/* git_lfs.h: recognises pointers of Git LFS: small text files that stand for large files in a repository that was
 * cloned without Git LFS. */
#pragma once

#include "base/error.h"

#include <stddef.h>

/* Whether a file that starts with these bytes is a Git LFS pointer. */
bool git_lfs_is_pointer(const void *data, size_t bytes);
/* Sets a user's error that the file is a Git LFS pointer; returns false. */
bool git_lfs_fail(const char *path, GError **error);
