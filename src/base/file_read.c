/* file_read.c: reads, maps and copies files. */
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST_LINE ((size_t)64 << 20) /* bytes */
#define DEEPEST      8                  /* levels of folders that are copied */

bool io_is_lfs_pointer(const void *data, size_t bytes)
{
    static const char start[] = "version https://git-lfs.github.com/spec/";
    return bytes >= sizeof start - 1 && memcmp(data, start, sizeof start - 1) == 0;
}

bool io_holds_lfs_pointer(int fd)
{
    char start[64];
    ssize_t n = pread(fd, start, sizeof start, 0);
    return n > 0 && io_is_lfs_pointer(start, (size_t)n);
}

bool io_fail_lfs_pointer(const char *path, GError **error)
{
    return fail_user(error, "%s is a Git LFS pointer, not the file itself: run git lfs pull where it was cloned", path);
}

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

static void *refuse_size(const char *path, size_t limit, GError **error)
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
            if (larger == NULL)
                return fail_machine(error, "reading %s: no memory for %zu bytes", path, capacity);
            data = larger;
        }
        ssize_t n = rigged_read(fd, data + used, capacity - used);
        if (n < 0)
            return fail_errno(error, "reading", path);
        if (n == 0)
            break;
        used += (size_t)n;
        if (used > limit)
            return refuse_size(path, limit, error);
    }
    if (io_is_lfs_pointer(data, used)) {
        io_fail_lfs_pointer(path, error);
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
    if (fd < 0)
        return fail_errno(error, "opening", path);
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

char *io_read_regular(const char *path, size_t limit, size_t *bytes, GError **error)
{
    struct stat status;
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return fail_user(error, "reading %s: it is not a regular file", path);
    return io_read_file(path, limit, bytes, error);
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

uint64_t io_size(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
}

bool io_check_whole(const char *path, uint64_t done, uint64_t size, GError **error)
{
    return done >= size || fail_user(error,
                                     "%s: the file was cut while it was read: %" PRIu64 " of the %" PRIu64
                                     " bytes that it had are left; run this again when the file is complete",
                                     path, done, size);
}

bool io_read_line(GString *line, FILE *file, GError **error)
{
    g_string_truncate(line, 0);
    for (int c; (c = getc_unlocked(file)) != EOF;) {
        g_string_append_c(line, (char)c);
        if (c == '\n')
            return true;
        if (line->len > LONGEST_LINE)
            return fail_user(error, "a line longer than 64 MiB");
    }
    return !ferror(file) || fail_machine(error, "reading it failed: %s", g_strerror(errno));
}

/* ---- mapping ---- */

int io_open_regular(const char *path, size_t *bytes, GError **error)
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
    else if (io_holds_lfs_pointer(fd))
        io_fail_lfs_pointer(path, error);
    else {
        *bytes = (size_t)status.st_size;
        return fd;
    }
    close(fd);
    return -1;
}

GMappedFile *io_map_file(const char *path, GError **error)
{
    size_t bytes;
    g_autoptr(GError) map_error = NULL;
    int fd = io_open_regular(path, &bytes, error);
    if (fd < 0)
        return NULL;
    GMappedFile *map = g_mapped_file_new_from_fd(fd, FALSE, &map_error);
    if (map == NULL)
        fail_machine(error, "mapping %s: %s", path, map_error->message);
    close(fd);
    return map;
}

/* ---- copying ---- */

static bool copy_bytes(FILE *from, IoFile *to, const char *path, GError **error)
{
    char buffer[1 << 16];
    uint64_t done = 0, bytes = io_size(fileno(from));
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, from)) > 0; done += n)
        if (!io_write(to, buffer, n, error))
            return false;
    if (ferror(from))
        return fail_errno(error, "reading", path);
    return io_check_whole(path, done, bytes, error);
}

bool io_copy_file(const char *from, const char *to, GError **error)
{
    FILE *source = fopen(from, "r");
    if (source == NULL)
        return errno == ENOENT || fail_errno(error, "reading", from);
    IoFile *target = io_create(to, error);
    bool copied = target && copy_bytes(source, target, from, error);
    fclose(source);
    if (copied)
        return io_close(target, true, error);
    io_abort(target);
    return false;
}

static bool copy_tree(const char *from, const char *to, int depth, GError **error)
{
    g_autoptr(GDir) entries = depth < DEEPEST ? g_dir_open(from, 0, NULL) : NULL;
    const char *name;
    bool copied = entries == NULL || io_make_directories(to, error);
    while (copied && entries && (name = g_dir_read_name(entries))) {
        g_autofree char *source = g_build_filename(from, name, NULL), *target = g_build_filename(to, name, NULL);
        if (g_file_test(source, G_FILE_TEST_IS_REGULAR))
            copied = io_copy_file(source, target, error);
        else if (g_file_test(source, G_FILE_TEST_IS_DIR))
            copied = copy_tree(source, target, depth + 1, error);
    }
    return copied;
}

bool io_copy_tree(const char *from, const char *to, GError **error)
{
    return copy_tree(from, to, 0, error);
}
