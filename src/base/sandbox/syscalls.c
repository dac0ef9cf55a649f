#include "base/sandbox/syscalls.h"

#include <errno.h>
#include <glib.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define X32_BIT      0x40000000U
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define X32_BIT      0xffffffffU
#else
#error "the sandbox has no table of system calls for this processor"
#endif

#define NEW_NAMESPACES                                                                                                 \
    (CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

/* What interpreters and the C library need of files, memory, time, signals and processes of their own. Not here:
 * sockets (except pairs within the sandbox, socketpair), mounts, namespaces, tracing of other processes, keys, modules,
 * io_uring, memory that is counted nowhere (memfd_create, shmget). */
static const uint16_t allowed[] = {
    /* files */
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_preadv,
    SYS_pwritev,
    SYS_preadv2,
    SYS_pwritev2,
    SYS_openat,
    SYS_openat2,
    SYS_close,
    SYS_close_range,
    SYS_lseek,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_statfs,
    SYS_fstatfs,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_getdents64,
    SYS_getcwd,
    SYS_chdir,
    SYS_fchdir,
    SYS_mkdirat,
    SYS_unlinkat,
    SYS_renameat,
    SYS_renameat2,
    SYS_linkat,
    SYS_symlinkat,
    SYS_readlinkat,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_umask,
    SYS_utimensat,
    SYS_truncate,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fsync,
    SYS_fdatasync,
    SYS_flock,
    SYS_fcntl,
    SYS_ioctl,
    SYS_dup,
    SYS_dup3,
    SYS_pipe2,
    SYS_sendfile,
    SYS_copy_file_range,
    SYS_splice,
    SYS_fadvise64,
    SYS_ppoll,
    SYS_pselect6,
    SYS_epoll_create1,
    SYS_epoll_ctl,
    SYS_epoll_pwait,
    SYS_eventfd2,
    SYS_socketpair,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_sendto,
    SYS_sendmsg,
    SYS_shutdown,
    /* memory */
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_mincore,
    SYS_brk,
    SYS_msync,
    SYS_mlock,
    SYS_munlock,
    SYS_membarrier,
    /* time */
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_setitimer,
    SYS_getitimer,
    SYS_timer_create,
    SYS_timer_settime,
    SYS_timer_gettime,
    SYS_timer_delete,
    SYS_timer_getoverrun,
    SYS_timerfd_create,
    SYS_timerfd_settime,
    SYS_timerfd_gettime,
    SYS_times,
    SYS_getrusage,
    /* signals */
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_rt_sigpending,
    SYS_rt_sigsuspend,
    SYS_rt_sigtimedwait,
    SYS_rt_sigqueueinfo,
    SYS_sigaltstack,
    SYS_kill,
    SYS_tkill,
    SYS_tgkill,
    SYS_signalfd4,
    SYS_restart_syscall,
    /* processes and threads */
    SYS_clone,
    SYS_execve,
    SYS_execveat,
    SYS_exit,
    SYS_exit_group,
    SYS_wait4,
    SYS_waitid,
    SYS_futex,
    SYS_rseq,
    SYS_set_robust_list,
    SYS_get_robust_list,
    SYS_set_tid_address,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_sched_setaffinity,
    SYS_sched_getparam,
    SYS_sched_getscheduler,
    SYS_getpriority,
    SYS_setpriority,
    SYS_getpid,
    SYS_getppid,
    SYS_gettid,
    SYS_getpgid,
    SYS_setpgid,
    SYS_getsid,
    SYS_setsid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_getresuid,
    SYS_getresgid,
    SYS_getgroups,
    SYS_prlimit64,
    SYS_getrlimit,
    SYS_setrlimit,
    SYS_uname,
    SYS_sysinfo,
    SYS_getrandom,
    SYS_getcpu,
#ifdef __x86_64__ /* forms that other processors do not have */
    SYS_open,
    SYS_creat,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_mkdir,
    SYS_rmdir,
    SYS_unlink,
    SYS_rename,
    SYS_link,
    SYS_symlink,
    SYS_readlink,
    SYS_chmod,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_getdents,
    SYS_dup2,
    SYS_pipe,
    SYS_poll,
    SYS_select,
    SYS_epoll_create,
    SYS_epoll_wait,
    SYS_eventfd,
    SYS_time,
    SYS_alarm,
    SYS_pause,
    SYS_getpgrp,
    SYS_fork,
    SYS_vfork,
    SYS_arch_prctl,
#endif
};

/* Each allowed call takes two instructions: compare its number, and allow it. The rest: architecture, x32, clone and
 * its flags. */
static struct sock_filter program[2 * G_N_ELEMENTS(allowed) + 16];

static unsigned short write_program(void)
{
    const uint32_t number = offsetof(struct seccomp_data, nr), arch = offsetof(struct seccomp_data, arch),
                   flags = offsetof(struct seccomp_data, args[0]);
    const struct sock_filter before[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)NEW_NAMESPACES, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    unsigned short n = 0;
    for (size_t i = 0; i < G_N_ELEMENTS(before); i++)
        program[n++] = before[i];
    for (size_t i = 0; i < G_N_ELEMENTS(allowed); i++) {
        program[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
        program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    program[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    return n;
}

struct sock_fprog sandbox_filter(void)
{
    static gsize length;
    if (g_once_init_enter(&length))
        g_once_init_leave(&length, write_program());
    return (struct sock_fprog){ .len = (unsigned short)length, .filter = program };
}
