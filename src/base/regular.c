#include "base/regular.h"

#include "base/file.h"

#include <sys/stat.h>

char *regular_read(const char *path, size_t limit, size_t *bytes, GError **error)
{
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        fail_user(error, "reading %s: it is not a regular file", path);
        return NULL;
    }
    return io_read_file(path, limit, bytes, error);
}
