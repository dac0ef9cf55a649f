#include "base/git_lfs.h"

#include <string.h>

bool git_lfs_is_pointer(const void *data, size_t bytes)
{
    static const char start[] = "version https://git-lfs.github.com/spec/";
    return bytes >= sizeof start - 1 && memcmp(data, start, sizeof start - 1) == 0;
}

bool git_lfs_fail(const char *path, GError **error)
{
    return fail_user(error, "%s is a Git LFS pointer, not the file itself: run git lfs pull where it was cloned", path);
}
