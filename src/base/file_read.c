/* file_read.c: reads files. */
#include "base/error.h"
#include "base/file.h"
#include "base/git_lfs.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_to_read(const char *path)
{
    return io_rigged("open") ? -1 : open(path, O_RDONLY | O_CLOEXEC);
}

static ssize_t rigged_read(int fd, void *data, size_t bytes)
{
    ssize_t n;
    do
        n = io_rigged("read") ? -1 : read(fd, data, bytes);
    while (n < 0 && errno == EINTR);
    return n;
}

static bool refuse_size(const char *path, size_t limit, GError **error)
{
    g_autofree char *most = text_bytes(limit);
    return fail_user(error, "reading %s: more than the %s allowed here", path, most);
}

/* Reads to the end of the file; `expected` is only a guess of its length. */
static char *read_all(int fd, const char *path, size_t expected, size_t limit, size_t *bytes, GError **error)
{
    size_t capacity = expected + 1, used = 0;
    g_autofree char *data = NULL;
    for (;;) {
        if (data == NULL || used == capacity) {
            capacity = data ? 2 * capacity : capacity;
            char *larger = g_try_realloc(data, capacity);
            if (larger == NULL) {
                fail_machine(error, "reading %s: no memory for %zu bytes", path, capacity);
                return NULL;
            }
            data = larger;
        }
        ssize_t n = rigged_read(fd, data + used, capacity - used);
        if (n < 0) {
            fail_errno(error, "reading", path);
            return NULL;
        }
        if (n == 0)
            break;
        used += (size_t)n;
        if (used > limit) {
            refuse_size(path, limit, error);
            return NULL;
        }
    }
    if (git_lfs_is_pointer(data, used)) {
        git_lfs_fail(path, error);
        return NULL;
    }
    data[used] = '\0';
    if (bytes)
        *bytes = used;
    return g_steal_pointer(&data);
}

char *io_read_file(const char *path, size_t limit, size_t *bytes, GError **error)
{
    int fd = open_to_read(path);
    if (fd < 0) {
        fail_errno(error, "opening", path);
        return NULL;
    }
    struct stat info;
    char *data = NULL;
    if (fstat(fd, &info) < 0)
        fail_errno(error, "reading", path);
    else if (S_ISREG(info.st_mode) && (uint64_t)info.st_size > limit)
        refuse_size(path, limit, error);
    else
        data = read_all(fd, path, S_ISREG(info.st_mode) ? (size_t)info.st_size : 4096, limit, bytes, error);
    close(fd);
    return data;
}

bool io_refused(const char *path, GError **error)
{
    struct stat info;
    const bool folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
    if (access(path, folder ? R_OK | X_OK : R_OK) == 0 || (errno != EACCES && errno != EPERM))
        return false;
    fail_machine(error, "reading %s: %s; this user needs the right to read it and to enter its folders (chmod, chown)",
                 path, g_strerror(errno));
    return true;
}

bool io_check_replaces(const char *path, const char *start, const char *what, GError **error)
{
    const size_t want = strlen(start);
    g_autofree char *data = g_malloc(want);
    struct stat info;
    if (stat(path, &info) < 0 || !S_ISREG(info.st_mode) || info.st_size == 0)
        return true;
    int fd = open_to_read(path);
    if (fd < 0)
        return fail_errno(error, "opening", path);
    ssize_t n = rigged_read(fd, data, want);
    close(fd);
    if (n < 0)
        return fail_errno(error, "reading", path);
    return ((size_t)n == want && memcmp(data, start, want) == 0) ||
           fail_user(error, "%s exists and is no %s: give another name", path, what);
}
