#include "base/regular.h"

#include <sys/stat.h>

bool regular_check(const char *path, GError **error)
{
    struct stat status;
    return stat(path, &status) != 0 || S_ISREG(status.st_mode) ||
           fail_user(error, "reading %s: it is not a regular file", path);
}
