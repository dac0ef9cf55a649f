#include "eval/programs/sandbox/inside.h"

#include "base/check.h"
#include "base/error.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#define NEW_NAMESPACES                                                                                                 \
    (CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

/* What interpreters and the C library need of files, memory, time, signals and processes of their own. Not here:
 * sockets (except pairs within the sandbox, socketpair), mounts, namespaces, tracing of other processes, keys, modules,
 * io_uring, memory that is counted nowhere (memfd_create, shmget). libseccomp gives a call
 * that this processor does not have a number that no program can use. */
static const char *const allowed[] = {
    /* files */
    "read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 openat openat2 close close_range "
    "lseek fstat newfstatat statx statfs fstatfs faccessat faccessat2 getdents64 getcwd chdir fchdir mkdirat "
    "unlinkat renameat renameat2 linkat symlinkat readlinkat fchmod fchmodat umask utimensat truncate ftruncate "
    "fallocate fsync fdatasync flock fcntl ioctl dup dup3 pipe2 sendfile copy_file_range splice fadvise64 ppoll "
    "pselect6 epoll_create1 epoll_ctl epoll_pwait eventfd2 socketpair recvfrom recvmsg sendto sendmsg shutdown",
    /* memory */
    "mmap munmap mremap mprotect madvise mincore brk msync mlock munlock membarrier",
    /* time */
    "clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday setitimer getitimer timer_create "
    "timer_settime timer_gettime timer_delete timer_getoverrun timerfd_create timerfd_settime timerfd_gettime "
    "times getrusage",
    /* signals */
    "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigsuspend rt_sigtimedwait rt_sigqueueinfo "
    "sigaltstack kill tkill tgkill signalfd4 restart_syscall",
    /* processes and threads */
    "execve execveat exit exit_group wait4 waitid futex rseq set_robust_list get_robust_list set_tid_address "
    "sched_yield sched_getaffinity sched_setaffinity sched_getparam sched_getscheduler getpriority setpriority "
    "getpid getppid gettid getpgid setpgid getsid setsid getuid geteuid getgid getegid getresuid getresgid "
    "getgroups prlimit64 getrlimit setrlimit uname sysinfo getrandom getcpu",
    /* forms that other processors do not have */
    "open creat stat lstat access mkdir rmdir unlink rename link symlink readlink chmod utime utimes futimesat "
    "getdents dup2 pipe poll select epoll_create epoll_wait eventfd time alarm pause getpgrp fork vfork "
    "arch_prctl",
};

/* Adds rules that allow the calls with these names. */
static bool allow(scmp_filter_ctx rules, const char *names)
{
    g_auto(GStrv) calls = g_strsplit(names, " ", -1);
    for (char **call = calls; *call; call++) {
        const int number = seccomp_syscall_resolve_name(*call);
        CHECK(number != __NR_SCMP_ERROR, "no system call is named \"%s\"", *call);
        if (seccomp_rule_add(rules, SCMP_ACT_ALLOW, number, 0) != 0)
            return false;
    }
    return true;
}

/* The rules; false means that there is no memory for them. */
static bool add_rules(scmp_filter_ctx rules)
{
    bool good = seccomp_attr_set(rules, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
                seccomp_attr_set(rules, SCMP_FLTATR_CTL_OPTIMIZE, 2) == 0; /* 2 means a binary search */
    for (size_t i = 0; good && i < G_N_ELEMENTS(allowed); i++)
        good = allow(rules, allowed[i]);
    return good && seccomp_rule_add(rules, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0 &&
           seccomp_rule_add(rules, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                            SCMP_A0(SCMP_CMP_MASKED_EQ, NEW_NAMESPACES, 0)) == 0;
}

/* libseccomp writes a filter only to a file, here one in memory. */
static bool make_filter(SandboxFilter *filter, GError **error)
{
    const int file = memfd_create("filter", MFD_CLOEXEC);
    scmp_filter_ctx rules = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    const bool written = file >= 0 && rules && add_rules(rules) && seccomp_export_bpf(rules, file) == 0;
    const ssize_t n = written ? pread(file, filter->code, sizeof filter->code, 0) : -1;
    seccomp_release(rules);
    if (file >= 0)
        close(file);
    filter->length = (unsigned short)((size_t)MAX(n, 0) / sizeof *filter->code);
    return n > 0 || fail_errno(error, "making", "the filter of system calls");
}

const SandboxFilter *sandbox_filter(GError **error)
{
    static SandboxFilter filter;
    static GMutex making;
    G_GNUC_UNUSED g_autoptr(GMutexLocker) held = g_mutex_locker_new(&making);
    return filter.length > 0 || make_filter(&filter, error) ? &filter : NULL;
}
