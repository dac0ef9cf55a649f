/* sandbox.h: the header of eval/programs/sandbox for files outside it: runs a program that nobody has checked, such as
 * code that a model wrote, so that it can do no harm.
 *
 * A program in the sandbox has user, mount, process, network, IPC and host-name namespaces of its own. It can read the
 * programs and libraries of the system, /dev/null, /dev/zero and /dev/urandom. It can write one folder, its working
 * directory, which is held in RAM and empty except for SandboxJob.files. It sees no home directories except folders of
 * SandboxJob.shown, of /etc only alternatives and ld.so.cache, no /proc, no other processes and no network. A seccomp
 * filter refuses all system calls except those listed in syscalls.c, and limits of the kernel bound its time, memory,
 * files and processes. When the machine runs out of memory, the kernel kills processes of the sandbox first. When the
 * program ends, all processes that it started are killed. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef struct SandboxLimits {
    double wall_s;        /* seconds of wall time from start to end */
    int64_t cpu_s;        /* seconds of processor time of each process */
    int64_t memory_bytes; /* address space of each process */
    int64_t processes;    /* number of processes and threads at a time */
    int64_t open_files;   /* number of open files per process */
    int64_t file_bytes;   /* size of one file */
    int64_t folder_bytes; /* size of the writable folder */
    int64_t output_bytes; /* bytes of standard output, and of standard error */
} SandboxLimits;

/* 10 s of wall time and 10 s of processor time, 2 GiB per process, 16 processes, 64 open files, 32 MiB per file, 64 MiB
 * in the folder, 1 MiB of output. */
extern const SandboxLimits sandbox_limits_default;

/* A file that is put into the working directory before the program starts. */
typedef struct SandboxFile {
    const char *name; /* without '/' */
    const char *text;
    size_t n_bytes;
} SandboxFile;

typedef struct SandboxJob {
    const char *const *argv;  /* argv[0] is an absolute path; the list ends with NULL */
    const char *const *shown; /* NULL-terminated list of more folders that the program can read; NULL means none */
    const SandboxFile *files;
    size_t n_files;
    const char *input; /* standard input */
    size_t n_input;
    SandboxLimits limits;
    bool unsafe; /* true: run without namespaces, only with the seccomp filter, the limits and a new empty folder */
} SandboxJob;

typedef enum SandboxEnd {
    SANDBOX_EXITED, /* the program ended; status is its exit status */
    SANDBOX_KILLED, /* a signal killed the program; status is the signal: SIGXCPU means the limit of processor time,
                       SIGXFSZ that of a file's size */
    SANDBOX_TIME,   /* the program was killed because it took more than wall_s */
    SANDBOX_OUTPUT, /* the program was killed because it wrote more than output_bytes */
} SandboxEnd;

typedef struct SandboxResult {
    SandboxEnd end;
    int status;
    GString *out, *err; /* standard output and standard error, cut at output_bytes; not checked to be UTF-8 */
    double wall_s;
} SandboxResult;

/* Runs the program to its end; call sandbox_result_clear after success. An error (LOAM_ERROR_MACHINE) means that the
 * sandbox could not be made, and how the user can get it, or that argv[0] cannot be executed, never that the program
 * failed. Any number of threads may call this at once. */
bool sandbox_run(SandboxResult *out, const SandboxJob *job, GError **error);
void sandbox_result_clear(SandboxResult *result);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(SandboxResult, sandbox_result_clear)
