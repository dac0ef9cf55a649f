#include "base/file.h"

#include "base/error.h"
#include "base/fault.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER_BYTES ((size_t)1 << 16)
#define MOST_LINKS   40 /* symbolic links that are followed from one to the next, as by the kernel */

struct IoFile {
    int fd, folder; /* folder: of a file of io_append, the folder that it was opened in, or -1 */
    char *path;
    char *buffer; /* `used` of BUFFER_BYTES bytes wait to be written */
    size_t used;
    off_t whole;   /* length of the file at the last io_flush */
    off_t written; /* its length */
    bool append;
    bool named; /* its path named it right after it was opened */
    bool torn;  /* a write failed and cutting the file back to `whole` failed too */
};

/* See io_fail_at. Atomic, since loaders and checkpoint writers are threads. */
static int rig_calls, rig_n, rig_errno;

void io_fail_at(int n, int error_number)
{
    g_atomic_int_set(&rig_n, 0);
    g_atomic_int_set(&rig_calls, 0);
    g_atomic_int_set(&rig_errno, error_number);
    g_atomic_int_set(&rig_n, n);
}

int io_calls(void)
{
    return g_atomic_int_get(&rig_calls);
}

bool io_rigged(const char *name)
{
    fault_point(name);
    fault_point("io");
    int call = g_atomic_int_add(&rig_calls, 1) + 1;
    int n = g_atomic_int_get(&rig_n);
    if (n >= 0 && call != n)
        return false;
    errno = g_atomic_int_get(&rig_errno);
    return true;
}

static int rigged_open(const char *path, int flags)
{
    return io_rigged("open") ? -1 : open(path, flags | O_CLOEXEC, 0666);
}

static ssize_t rigged_write(int fd, const void *data, size_t bytes)
{
    ssize_t n;
    do
        n = io_rigged("write") ? -1 : write(fd, data, bytes);
    while (n < 0 && errno == EINTR);
    return n;
}

/* Closes the descriptor on failure too. */
static int rigged_close(int fd)
{
    if (io_rigged("close")) {
        int number = errno;
        close(fd);
        errno = number;
        return -1;
    }
    return close(fd) == 0 || errno == EINTR ? 0 : -1;
}

static bool is_same_inode(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool io_is_named(int fd, const char *path)
{
    struct stat own, named;
    return fstat(fd, &own) == 0 && stat(path, &named) == 0 && is_same_inode(&own, &named);
}

/* fd < 0 means that opening failed with errno. */
static IoFile *file_from(int fd, const char *path, GError **error)
{
    if (fd < 0)
        return fail_errno(error, "opening", path);
    IoFile *file = g_new(IoFile, 1);
    struct stat info;
    *file = (IoFile){ .fd = fd, .folder = -1, .path = g_strdup(path), .buffer = g_malloc(BUFFER_BYTES) };
    if (fstat(fd, &info) == 0)
        file->whole = file->written = info.st_size;
    file->named = io_is_named(fd, path);
    return file;
}

IoFile *io_create(const char *path, GError **error)
{
    return file_from(rigged_open(path, O_WRONLY | O_CREAT | O_TRUNC), path, error);
}

IoFile *io_append(const char *path, GError **error)
{
    IoFile *file = file_from(rigged_open(path, O_WRONLY | O_CREAT | O_APPEND), path, error);
    g_autofree char *folder = g_path_get_dirname(path);
    if (file) {
        file->append = true;
        file->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    return file;
}

char *io_append_again(IoFile *file)
{
    g_autofree char *name = g_path_get_basename(file->path);
    struct stat own, there;
    if (file->used > 0 || fstat(file->fd, &own) != 0 ||
        (fstatat(file->folder, name, &there, 0) == 0 ? !S_ISREG(there.st_mode) || is_same_inode(&own, &there)
                                                     : errno != ENOENT))
        return NULL;
    const int fd = openat(file->folder, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) /* the folder is gone, too */
        return NULL;
    close(file->fd);
    file->fd = fd;
    file->torn = false;
    file->whole = file->written = fstat(fd, &own) == 0 ? own.st_size : 0;
    return g_strdup_printf("%s was renamed or deleted while it was written; it is made again", file->path);
}

/* Whether PATH is a device, a FIFO or a socket, which no file may replace. */
static bool is_special(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

IoFile *io_create_beside(const char *path, GError **error)
{
    if (*path == '\0' || g_file_test(path, G_FILE_TEST_IS_DIR))
        return fail_user(error, "%s is %s; want the name of a file", *path ? path : "the path",
                         *path ? "a folder" : "empty");
    if (is_special(path))
        return fail_user(error, "%s is a device or a pipe; want the name of a file", path);
    g_autofree char *temporary = g_strconcat(path, ".XXXXXX.tmp", NULL);
    int fd = io_rigged("open") ? -1 : g_mkstemp_full(temporary, O_WRONLY | O_CLOEXEC, 0666);
    return file_from(fd, fd < 0 ? path : temporary, error);
}

int io_scratch(const char *folder, GError **error)
{
    g_autofree char *path = g_build_filename(folder, ".loam-XXXXXX", NULL);
    int fd = io_rigged("open") ? -1 : g_mkstemp_full(path, O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        fail_errno(error, "creating a file in", folder);
    else
        unlink(path);
    return fd;
}

IoFile *io_create_scratch(const char *folder, GError **error)
{
    int fd = io_scratch(folder, error);
    return fd < 0 ? NULL : file_from(fd, folder, error);
}

/* Whether a file of this name was made by io_create_beside. */
static bool is_temporary(const char *name)
{
    const size_t length = strlen(name), end = strlen(".XXXXXX.tmp");
    if (length <= end || name[length - end] != '.' || !g_str_has_suffix(name, ".tmp"))
        return false;
    for (size_t i = length - end + 1; i < length - strlen(".tmp"); i++)
        if (!g_ascii_isalnum(name[i]))
            return false;
    return true;
}

void io_remove_temporaries(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    const char *name;
    while (dir && (name = g_dir_read_name(dir))) {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (is_temporary(name))
            unlink(path);
    }
}

/* Cuts the file back to its length at the last io_flush. */
static bool cut_back(IoFile *file)
{
    file->used = 0;
    file->torn = io_rigged("truncate") || ftruncate(file->fd, file->whole) < 0 ||
                 (!file->append && lseek(file->fd, file->whole, SEEK_SET) < 0);
    if (!file->torn)
        file->written = file->whole;
    return !file->torn;
}

/* On failure the file is cut back: everything written since the last io_flush is lost. */
static bool write_io(IoFile *file, const char *data, size_t bytes, GError **error)
{
    while (bytes > 0) {
        ssize_t n = rigged_write(file->fd, data, bytes);
        if (n < 0) {
            fail_errno(error, "writing", file->path);
            cut_back(file);
            return false;
        }
        file->written += n;
        data += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool write_buffer(IoFile *file, GError **error)
{
    size_t used = file->used;
    file->used = 0;
    return write_io(file, file->buffer, used, error);
}

/* Tries again to cut back a torn file. */
static bool mend(IoFile *file, GError **error)
{
    return !file->torn || cut_back(file) || fail_errno(error, "cutting back", file->path);
}

bool io_flush(IoFile *file, GError **error)
{
    if (!mend(file, error) || !write_buffer(file, error))
        return false;
    file->whole = file->written;
    return true;
}

bool io_write(IoFile *file, const void *data, size_t bytes, GError **error)
{
    if (bytes == 0)
        return true;
    if (!mend(file, error))
        return false;
    if (bytes > BUFFER_BYTES - file->used && !write_buffer(file, error))
        return false;
    if (bytes >= BUFFER_BYTES)
        return write_io(file, data, bytes, error);
    memcpy(file->buffer + file->used, data, bytes);
    file->used += bytes;
    return true;
}

bool io_patch(IoFile *file, int64_t at, const void *data, size_t bytes, GError **error)
{
    if (!io_flush(file, error))
        return false;
    bool done = !io_rigged("write") && pwrite(file->fd, data, bytes, at) == (ssize_t)bytes;
    return done || fail_errno(error, "writing", file->path);
}

static void free_file(IoFile *file)
{
    if (file->folder >= 0)
        close(file->folder);
    g_free(file->path);
    g_free(file->buffer);
    g_free(file);
}

bool io_sync(IoFile *file, GError **error)
{
    return io_flush(file, error) &&
           ((!io_rigged("fsync") && fsync(file->fd) == 0) || fail_errno(error, "syncing", file->path));
}

bool io_close(IoFile *file, bool sync, GError **error)
{
    if (!(sync ? io_sync(file, error) : io_flush(file, error))) {
        io_abort(file);
        return false;
    }
    bool ok = rigged_close(file->fd) == 0 || fail_errno(error, "closing", file->path);
    free_file(file);
    return ok;
}

void io_abort(IoFile *file)
{
    if (file == NULL)
        return;
    close(file->fd);
    free_file(file);
}

/* Whether the path of the file still leads to it. On a file system whose files change their numbers, nothing tells. */
static bool is_own_file(const IoFile *file)
{
    return !file->named || io_is_named(file->fd, file->path);
}

bool io_publish(IoFile *file, const char *to, GError **error)
{
    bool done =
        io_sync(file, error) &&
        (is_own_file(file) || fail_machine(error, "%s was removed or replaced while it was written", file->path)) &&
        io_rename(file->path, to, error);
    if (done)
        io_abort(file); /* nothing is left to write */
    else
        io_discard(file);
    return done;
}

void io_discard(IoFile *file)
{
    if (file && is_own_file(file))
        unlink(file->path);
    io_abort(file);
}

GMappedFile *io_map(IoFile *file, GError **error)
{
    g_autoptr(GError) reason = NULL;
    GMappedFile *map = io_flush(file, error) ? g_mapped_file_new_from_fd(file->fd, false, &reason) : NULL;
    if (reason)
        fail_machine(error, "mapping a file in %s: %s", file->path, reason->message);
    return map;
}

bool io_rename(const char *from, const char *to, GError **error)
{
    if (io_rigged("rename") || rename(from, to) < 0) {
        g_autofree char *action = g_strdup_printf("renaming %s to", from);
        return fail_errno(error, action, to);
    }
    return true;
}

bool io_sync_directory(const char *path, GError **error)
{
    int fd = rigged_open(path, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return fail_errno(error, "opening folder", path);
    bool synced = !io_rigged("fsync") && fsync(fd) == 0;
    const bool cannot = errno == EINVAL || errno == ENOTSUP || errno == ENOSYS || errno == EBADF; /* syncs no folders */
    bool ok = synced || cannot || fail_errno(error, "syncing folder", path);
    if (rigged_close(fd) < 0 && ok)
        return fail_errno(error, "closing folder", path);
    return ok;
}

static bool sync_parent(const char *path, GError **error)
{
    g_autofree char *parent = g_path_get_dirname(path);
    return io_sync_directory(parent, error);
}

bool io_make_directories(const char *path, GError **error)
{
    if (g_file_test(path, G_FILE_TEST_IS_DIR))
        return true;
    g_autofree char *parent = g_path_get_dirname(path);
    if (!io_make_directories(parent, error))
        return false;
    if (strcmp(path, "~") == 0 || g_str_has_suffix(path, "/~"))
        return fail_user(error, "no folder is called ~, which the shell replaces only where a word begins: write %s",
                         g_get_home_dir());
    if (!io_rigged("mkdir") && mkdir(path, 0777) == 0)
        return true;
    if (errno != EEXIST)
        return fail_errno(error, "creating folder", path);
    /* Made by another process, or "a/b/" after "a/b". */
    return g_file_test(path, G_FILE_TEST_IS_DIR) || fail_user(error, "%s is a file; a folder is wanted there", path);
}

GPtrArray *io_missing_folders(const char *path)
{
    GPtrArray *missing = g_ptr_array_new_with_free_func(g_free);
    char *folder = g_canonicalize_filename(path, NULL);
    while (!g_file_test(folder, G_FILE_TEST_EXISTS)) {
        g_ptr_array_add(missing, folder);
        folder = g_path_get_dirname(folder);
    }
    g_free(folder);
    return missing;
}

void io_remove_empty(const GPtrArray *folders)
{
    for (guint i = 0; i < folders->len; i++)
        rmdir(folders->pdata[i]);
}

static bool remove_contents(const char *path, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GDir) folder = g_dir_open(path, 0, &reason);
    if (folder == NULL)
        return fail_machine(error, "removing %s: %s", path, reason->message);
    const char *name;
    while ((name = g_dir_read_name(folder))) {
        g_autofree char *child = g_build_filename(path, name, NULL);
        if (!io_remove_tree(child, error))
            return false;
    }
    return true;
}

bool io_remove_tree(const char *path, GError **error)
{
    struct stat info;
    if (lstat(path, &info) < 0)
        return errno == ENOENT || fail_errno(error, "removing", path);
    if (!S_ISDIR(info.st_mode))
        return io_remove_file(path, error);
    if (!remove_contents(path, error))
        return false;
    return (!io_rigged("rmdir") && rmdir(path) == 0) || errno == ENOENT || fail_errno(error, "removing", path);
}

bool io_remove_file(const char *path, GError **error)
{
    return (!io_rigged("unlink") && unlink(path) == 0) || errno == ENOENT || fail_errno(error, "removing", path);
}

/* The path with symbolic links resolved, so that renaming to it replaces their target. */
static char *resolve(const char *path)
{
    char *real = realpath(path, NULL);
    char *resolved = real ? g_strdup(real) : g_canonicalize_filename(path, NULL);
    free(real);
    return resolved;
}

char *io_make_folder_beside(const char *path, GError **error)
{
    g_autofree char *whole = resolve(path);
    g_autofree char *parent = g_path_get_dirname(whole), *name = g_path_get_basename(whole);
    g_autofree char *fresh_name = g_strdup_printf("tmp-%s-XXXXXX", name);
    g_autofree char *fresh = g_build_filename(parent, fresh_name, NULL);
    if (!io_make_directories(parent, error))
        return NULL;
    if (io_rigged("mkdir") || g_mkdtemp_full(fresh, 0777) == NULL)
        return fail_errno(error, "creating a folder beside", whole);
    return g_steal_pointer(&fresh);
}

/* Exchanges two folders' names atomically. False if the file system cannot, or for tests under io_fail_at. */
static bool exchange_files(const char *a, const char *b)
{
    fault_point("rename");
    return g_atomic_int_get(&rig_n) == 0 && renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0;
}

/* Renames the old folder aside and the fresh one to PATH. If the second renaming fails, the first is undone. */
static bool replace_by_renames(const char *fresh, const char *path, GError **error)
{
    g_autofree char *aside = io_make_folder_beside(path, error);
    if (aside == NULL || !io_rename(path, aside, error)) {
        if (aside)
            rmdir(aside);
        return false;
    }
    if (!io_rename(fresh, path, error)) {
        rename(aside, path);
        return false;
    }
    return sync_parent(path, error) && io_remove_tree(aside, error);
}

bool io_swap_in(const char *fresh, const char *path, GError **error)
{
    g_autofree char *whole = resolve(path);
    if (!g_file_test(whole, G_FILE_TEST_IS_DIR))
        return io_rename(fresh, whole, error) && sync_parent(whole, error);
    if (exchange_files(fresh, whole))
        return sync_parent(whole, error) && io_remove_tree(fresh, error);
    return replace_by_renames(fresh, whole, error);
}

bool io_replace_link(const char *link, const char *target, GError **error)
{
    g_autofree char *temporary = g_strconcat(link, ".tmp", NULL);
    if (!io_remove_file(temporary, error)) /* of a process that crashed */
        return false;
    if (io_rigged("symlink") || symlink(target, temporary) < 0)
        return fail_errno(error, "creating link", temporary);
    if (!io_rename(temporary, link, error)) {
        unlink(temporary);
        return false;
    }
    return sync_parent(link, error);
}

char *io_follow_links(const char *path)
{
    char *at = g_strdup(path);
    for (int i = 0; i < MOST_LINKS; i++) {
        g_autofree char *target = g_file_read_link(at, NULL), *folder = g_path_get_dirname(at);
        if (target == NULL)
            break;
        g_free(at);
        at = g_path_is_absolute(target) ? g_strdup(target) : g_build_filename(folder, target, NULL);
    }
    return at;
}

/* Opens PATH to be written without a temporary file: a device, a FIFO, or the file that standard output or error goes
 * to. NULL without an error means that PATH is none of these. */
static IoFile *open_special(const char *path, GError **error)
{
    struct stat info;
    if (stat(path, &info) < 0 || S_ISDIR(info.st_mode))
        return NULL;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (io_is_named(fd, path))
            return file_from(fcntl(fd, F_DUPFD_CLOEXEC, 0), path, error);
    return S_ISREG(info.st_mode) ? NULL : file_from(rigged_open(path, O_WRONLY | O_NOCTTY), path, error);
}

bool io_check_writable(const char *path, GError **error)
{
    if (is_special(path)) /* opening a FIFO would wait for its reader */
        return access(path, W_OK) == 0 || fail_errno(error, "opening", path);
    g_autofree char *target = io_follow_links(path);
    IoFile *file = io_create_beside(target, error);
    io_discard(file);
    return file != NULL;
}

bool io_check_apart(const char *written, char *const *read, int n, GError **error)
{
    struct stat target, source;
    if (stat(written, &target) != 0 || !S_ISREG(target.st_mode))
        return true;
    for (int i = 0; i < n; i++)
        if (stat(read[i], &source) == 0 && is_same_inode(&source, &target))
            return fail_user(error, "%s is both read and written: give another --out", read[i]);
    return true;
}

bool io_write_file(const char *path, const void *data, size_t bytes, GError **error)
{
    GError *problem = NULL;
    IoFile *special = open_special(path, &problem);
    if (special && io_write(special, data, bytes, error))
        return io_close(special, false, error);
    io_abort(special);
    if (special)
        return false;
    if (problem)
        return fail_with(error, problem);
    g_autofree char *target = io_follow_links(path);
    IoFile *file = io_create_beside(target, error);
    if (file && io_write(file, data, bytes, error))
        return io_publish(file, target, error) && sync_parent(target, error);
    io_discard(file);
    return false;
}

GPtrArray *io_list_names(const char *folder, const char *suffix, GError **error)
{
    g_autoptr(GError) reason = NULL;
    g_autoptr(GDir) dir = g_dir_open(folder, 0, &reason);
    if (!dir)
        return fail_user(error, "%s", reason->message);
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    for (const char *name; (name = g_dir_read_name(dir));)
        if (name[0] != '.' && g_str_has_suffix(name, suffix))
            g_ptr_array_add(names, g_strndup(name, strlen(name) - strlen(suffix)));
    g_ptr_array_sort(names, text_compare);
    return names;
}

bool io_exists(const char *folder, const char *name)
{
    g_autofree char *path = g_build_filename(folder, name, NULL);
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

bool io_lies_in(const char *folder, const char *path)
{
    g_autofree char *whole = g_canonicalize_filename(path, NULL), *dir = g_canonicalize_filename(folder, NULL);
    g_autofree char *parent = g_path_get_dirname(whole);
    return strcmp(parent, dir) == 0;
}
