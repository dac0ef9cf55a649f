#include "base/lock.h"

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define OWNER_BYTES 512

static bool is_taken(int number)
{
    return number == EWOULDBLOCK || number == EAGAIN || number == EACCES;
}

static int lock_by_fcntl(int file)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    return io_rigged("fcntl") ? -1 : fcntl(file, F_SETLK, &whole);
}

/* Whether the file names another process of this host that is alive. */
static bool has_owner(int file)
{
    char text[OWNER_BYTES] = "";
    ssize_t n = pread(file, text, sizeof text - 1, 0);
    char *at = n > 0 ? strchr(text, ' ') : NULL;
    if (at == NULL)
        return false;
    *at = '\0';
    long pid = strtol(at + 1, NULL, 10);
    return strcmp(text, g_get_host_name()) == 0 && pid > 0 && pid != getpid() &&
           (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

/* Writes "HOST PID", which is only read if the file cannot be locked. */
static void write_owner(int file)
{
    char text[OWNER_BYTES];
    int n = snprintf(text, sizeof text, "%s %d\n", g_get_host_name(), (int)getpid());
    if (n > 0 && ftruncate(file, 0) == 0)
        (void)!pwrite(file, text, MIN((size_t)n, sizeof text - 1), 0);
}

/* Locks an open file until it is closed. A lock of flock, which nobody can ask for without taking it, gets one of fcntl
 * beside it for lock_is_free; on NFS, where both are the same, the first one suffices. */
static LockResult take_lock(int file, const char *path)
{
    if (!io_rigged("flock") && flock(file, LOCK_EX | LOCK_NB) == 0) {
        (void)!fcntl(file, F_OFD_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET });
        return LOCK_HELD;
    }
    int number = errno;
    if (is_taken(number))
        return LOCK_TAKEN;
    if (lock_by_fcntl(file) == 0)
        return LOCK_HELD;
    if (is_taken(errno) || has_owner(file))
        return LOCK_TAKEN;
    g_autofree char *by_flock = g_strdup(g_strerror(number));
    log_warning("%s cannot be locked (flock: %s, fcntl: %s): only processes of this machine are kept away", path,
                by_flock, g_strerror(errno));
    return LOCK_HELD;
}

LockResult lock_file(const char *path, int *lock, GError **error)
{
    *lock = -1;
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) {
        fail_errno(error, "opening", path);
        return LOCK_FAILED;
    }
    LockResult result = take_lock(file, path);
    if (result != LOCK_HELD) {
        close(file);
        return result;
    }
    write_owner(file);
    *lock = file;
    return result;
}

/* These two calls are not rigged (base/fault.h): one that fails is no error here. */
LockResult lock_open_file(int file)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    if (flock(file, LOCK_EX | LOCK_NB) == 0 || (!is_taken(errno) && fcntl(file, F_SETLK, &whole) == 0))
        return LOCK_HELD;
    return is_taken(errno) ? LOCK_TAKEN : LOCK_HELD;
}

/* The lock of fcntl that keeps others from the file: its type, F_UNLCK if there is none, -1 if that cannot be told. */
static int type_of_lock(const char *path)
{
    const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* at a FIFO, open would wait */
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    const int type = file >= 0 && fcntl(file, F_OFD_GETLK, &whole) == 0 ? whole.l_type : -1;
    if (file >= 0)
        close(file);
    return type;
}

bool lock_is_free(const char *path)
{
    return type_of_lock(path) == F_UNLCK;
}

bool lock_is_held(const char *path)
{
    const int type = type_of_lock(path);
    return type >= 0 && type != F_UNLCK;
}

void lock_release(int lock)
{
    if (lock < 0)
        return;
    /* On file systems without locks, the process named in the file counts as its owner while it runs. */
    (void)!ftruncate(lock, 0);
    close(lock);
}
