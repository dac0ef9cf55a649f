#include "format/map.h"

#include "base/git_lfs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_pointer(int fd)
{
    char start[64];
    ssize_t n = pread(fd, start, sizeof start, 0);
    return n > 0 && git_lfs_is_pointer(start, (size_t)n);
}

int open_regular(const char *path, size_t *bytes, GError **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0) {
        fail_errno(error, "opening", path);
        return -1;
    }
    if (fstat(fd, &status) != 0)
        fail_errno(error, "reading", path);
    else if (!S_ISREG(status.st_mode))
        fail_user(error, "reading %s: it is not a regular file", path);
    else if (is_pointer(fd))
        git_lfs_fail(path, error);
    else {
        *bytes = (size_t)status.st_size;
        return fd;
    }
    close(fd);
    return -1;
}

GMappedFile *map_file(const char *path, GError **error)
{
    size_t bytes;
    g_autoptr(GError) map_error = NULL;
    int fd = open_regular(path, &bytes, error);
    if (fd < 0)
        return NULL;
    GMappedFile *map = g_mapped_file_new_from_fd(fd, FALSE, &map_error);
    if (map == NULL)
        fail_machine(error, "mapping %s: %s", path, map_error->message);
    close(fd);
    return map;
}
