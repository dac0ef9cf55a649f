#include "format/map.h"

#include "base/git_lfs.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

GMappedFile *map_file(const char *path, GError **error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fail_errno(error, "opening", path);
        return NULL;
    }
    GMappedFile *map = NULL;
    g_autoptr(GError) map_error = NULL;
    struct stat status;
    if (fstat(fd, &status) != 0)
        fail_errno(error, "reading", path);
    else if (!S_ISREG(status.st_mode))
        fail_user(error, "reading %s: it is not a regular file", path);
    else if ((map = g_mapped_file_new_from_fd(fd, FALSE, &map_error)) == NULL)
        fail_machine(error, "mapping %s: %s", path, map_error->message);
    close(fd);
    if (map && git_lfs_is_pointer(g_mapped_file_get_contents(map), g_mapped_file_get_length(map))) {
        git_lfs_fail(path, error);
        g_clear_pointer(&map, g_mapped_file_unref);
    }
    return map;
}
