/* inside.c: the child process of a sandbox. It becomes process 1 of the new namespaces, builds the file system that the
 * program sees, starts the program as process 2 and waits for it; when process 1 ends, the kernel ends all others.
 *
 * Ids are changed by raw system calls: the C library's functions would wait for the threads of the parent, which the
 * child does not have. */
#include "eval/programs/sandbox/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Descriptors of the child; the standard streams are 0 to 2, all others of the parent are closed. */
enum { REPORT = 3, PARENT = 4, N_DESCRIPTORS = 5 };

static char *append_path(char *out, const char *end, const char *text)
{
    while (*text && out < end)
        *out++ = *text++;
    *out = '\0';
    return out;
}

static void write_report(const Report *report)
{
    if (write(REPORT, report, sizeof *report) != (ssize_t)sizeof *report)
        _exit(1);
}

/* Ends the child with a report of errno if a step failed. */
static void must(bool done, const char *doing, const char *what)
{
    Report report = { .error = errno };
    const char *end = report.step + sizeof report.step - 1;
    if (done)
        return;
    append_path(append_path(report.step, end, doing), end, what);
    write_report(&report);
    _exit(0);
}

/* ---- descriptors and ids ---- */

/* Moves the descriptors to their numbers. Each is first duplicated to a higher number, so that dup2 overwrites none
 * that is still needed. */
static void take_descriptors(const Inside *inside)
{
    const int from[N_DESCRIPTORS] = { inside->input, inside->out, inside->err, inside->report, inside->parent };
    int moved[N_DESCRIPTORS];
    for (int i = 0; i < N_DESCRIPTORS; i++)
        if ((moved[i] = fcntl(from[i], F_DUPFD, N_DESCRIPTORS)) < 0)
            _exit(1);
    for (int i = 0; i < N_DESCRIPTORS; i++)
        if (dup2(moved[i], i) < 0)
            _exit(1);
    must(fcntl(REPORT, F_SETFD, FD_CLOEXEC) == 0 && fcntl(PARENT, F_SETFD, FD_CLOEXEC) == 0, "marking descriptors", "");
    must(syscall(SYS_close_range, N_DESCRIPTORS, ~0U, 0) == 0, "closing descriptors", "");
}

/* If the machine runs out of memory, the kernel kills the program before any other process: limits.processes of them
 * together may exceed the RAM. /proc is that of the parent. */
static void end_first(void)
{
    const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score < 0 || write(score, "1000", 4) != 4)
        return; /* a machine without /proc */
    close(score);
}

/* Makes the child end with its parent: the kernel sends SIGKILL when the parent dies; if it has died already, the child
 * exits here. */
static void follow_parent(void)
{
    struct pollfd parent = { .fd = PARENT };
    must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "asking for the parent's end", "");
    if (poll(&parent, 1, 0) != 0)
        _exit(1);
}

/* Waits until the parent has written the maps of ids; returns a letter that says which ids they map to (map_ids in
 * sandbox.c). */
static char wait_for_ids(void)
{
    char ids;
    if (read(PARENT, &ids, 1) != 1)
        _exit(1);
    return ids;
}

/* Takes the id that the maps give. */
static void take_ids(char ids)
{
    if (ids == IDS_NOBODY)
        must(syscall(SYS_setgroups, 0, NULL) == 0, "leaving groups", "");
    must(syscall(SYS_setresgid, SANDBOX_ID, SANDBOX_ID, SANDBOX_ID) == 0, "taking a group id", "");
    must(syscall(SYS_setresuid, SANDBOX_ID, SANDBOX_ID, SANDBOX_ID) == 0, "taking a user id", "");
}

/* ---- the file system ---- */

/* Makes the parent folders of a path; last: also the folder that the path names. */
static void make_folders(const char *path, bool last)
{
    char part[PATH_MAX];
    size_t n = strlen(path);
    must(n < sizeof part, "too long: ", path);
    for (size_t i = 1; i <= n; i++)
        if (path[i] == '/' || (path[i] == '\0' && last)) {
            memcpy(part, path, i);
            part[i] = '\0';
            must(mkdir(part, 0755) == 0 || errno == EEXIST, "making ", part);
        }
}

/* Copies the mounts of the shown paths with the ids of the parent, which may enter folders that other users may not. */
static void copy_mounts(const Inside *inside, int trees[SANDBOX_MAX_SHOWN])
{
    struct mount_attr flags = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };
    for (int i = 0; i < inside->n_shown; i++) {
        const Shown *shown = &inside->shown[i];
        if (shown->link)
            continue;
        trees[i] = open_tree(AT_FDCWD, shown->path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
        must(trees[i] >= 0, "copying the mount of ", shown->path);
        must(mount_setattr(trees[i], "", AT_EMPTY_PATH | AT_RECURSIVE, &flags, sizeof flags) == 0, "protecting ",
             shown->path);
    }
}

static void show_tree(const Shown *shown, int tree)
{
    int file;
    make_folders(shown->path, shown->folder);
    if (shown->link) {
        must(symlink(shown->link, shown->path) == 0, "linking ", shown->path);
        return;
    }
    if (!shown->folder)
        must((file = open(shown->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0444)) >= 0 && close(file) == 0, "making ",
             shown->path);
    must(move_mount(tree, "", AT_FDCWD, shown->path, MOVE_MOUNT_F_EMPTY_PATH) == 0 && close(tree) == 0, "mounting ",
         shown->path);
}

/* The root becomes a new file system in memory, with the shown paths of the old one and an empty folder, which is /tmp
 * too unless something of the old /tmp is shown. */
static void make_root(const Inside *inside, const int trees[SANDBOX_MAX_SHOWN])
{
    must(mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755") == 0, "mounting a new root", "");
    must(chdir("/tmp") == 0 && mkdir("old", 0700) == 0, "entering the new root", "");
    must(syscall(SYS_pivot_root, ".", "old") == 0 && chdir("/") == 0, "changing the root", "");
    must(umount2("/old", MNT_DETACH) == 0 && rmdir("/old") == 0, "leaving the old root", "");
    for (int i = 0; i < inside->n_shown; i++)
        show_tree(&inside->shown[i], trees[i]);
    must(mkdir(SANDBOX_FOLDER, 0700) == 0, "making ", SANDBOX_FOLDER);
    must(mount("tmpfs", SANDBOX_FOLDER, "tmpfs", MS_NOSUID | MS_NODEV, inside->folder_options) == 0, "mounting ",
         SANDBOX_FOLDER);
    must(symlink(SANDBOX_FOLDER, "/tmp") == 0 || errno == EEXIST, "linking ", "/tmp");
    must(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) == 0,
         "protecting the root", "");
    must(chdir(SANDBOX_FOLDER) == 0, "entering ", SANDBOX_FOLDER);
}

static void write_job_files(const SandboxJob *job)
{
    for (size_t i = 0; i < job->n_files; i++) {
        const SandboxFile *file = &job->files[i];
        size_t done = 0;
        int out = open(file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        must(out >= 0, "making ", file->name);
        for (ssize_t n = 0; done < file->n_bytes; done += (size_t)n)
            must((n = write(out, file->text + done, file->n_bytes - done)) > 0, "writing ", file->name);
        must(close(out) == 0, "closing ", file->name);
    }
}

/* ---- the program ---- */

static void limit(int resource, int64_t soft, int64_t hard, const char *name)
{
    const struct rlimit64 wanted = { .rlim_cur = (rlim64_t)soft, .rlim_max = (rlim64_t)hard };
    must(syscall(SYS_prlimit64, 0, resource, &wanted, NULL) == 0, "limiting ", name);
}

static void set_limits(const SandboxJob *job)
{
    const SandboxLimits *most = &job->limits;
    limit(RLIMIT_CPU, most->cpu_s, most->cpu_s + 1, "processor time");
    limit(RLIMIT_FSIZE, most->file_bytes, most->file_bytes, "file sizes");
    limit(RLIMIT_NOFILE, most->open_files, most->open_files, "open files");
    limit(RLIMIT_CORE, 0, 0, "core dumps");
    limit(RLIMIT_MEMLOCK, 0, 0, "locked memory");
    if (!job->unsafe) { /* the process that waits counts too; elsewhere all processes of the user would count */
        limit(RLIMIT_NPROC, most->processes + 1, most->processes + 1, "processes");
        limit(RLIMIT_MSGQUEUE, 0, 0, "message queues");
    }
    limit(RLIMIT_AS, most->memory_bytes, most->memory_bytes, "memory");
}

static void drop_privileges(const Inside *inside)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3];
    memset(none, 0, sizeof none);
    must(syscall(SYS_capset, &header, none) == 0, "dropping capabilities", "");
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "renouncing privileges", "");
    const struct sock_fprog filter = { .len = inside->filter->length,
                                       .filter = (struct sock_filter *)inside->filter->code };
    must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0, "installing the seccomp filter", "");
}

static void default_signals(void)
{
    sigset_t none;
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

_Noreturn static void start_program(const Inside *inside)
{
    const char *const *argv = inside->job->argv;
    default_signals();
    if (inside->job->unsafe)
        must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "asking for the parent's end", "");
    set_limits(inside->job);
    drop_privileges(inside);
    execve(argv[0], (char *const *)(uintptr_t)argv, inside->env);
    must(false, "starting ", argv[0]);
    _exit(1);
}

_Noreturn void sandbox_inside(const Inside *inside)
{
    Report report = { .error = 0 };
    take_descriptors(inside);
    end_first();
    setsid();
    if (inside->job->unsafe) {
        must(chdir(inside->folder) == 0, "entering ", inside->folder);
    } else {
        const char ids = wait_for_ids();
        int trees[SANDBOX_MAX_SHOWN];
        must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "making mounts private", "");
        copy_mounts(inside, trees);
        take_ids(ids);
        make_root(inside, trees);
    }
    follow_parent();
    prctl(PR_SET_DUMPABLE, 0);
    must(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0, "adopting processes", "");
    write_job_files(inside->job);
    const pid_t program = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    must(program >= 0, "making a process", "");
    if (program == 0)
        start_program(inside);
    for (int status; true;) {
        const pid_t ended = waitpid(-1, &status, 0);
        if (ended == program) {
            report.wait_status = status;
            write_report(&report);
            if (!inside->job->unsafe)
                _exit(0);
        }
        if (ended < 0 && errno == ECHILD)
            pause(); /* until the parent has ended what the program left, whose parent this process is */
        must(ended > 0 || errno == EINTR, "waiting for the program", "");
    }
}
