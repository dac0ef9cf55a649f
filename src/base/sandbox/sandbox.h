/* sandbox.h: the way into base/sandbox: runs a program that nobody has read, such as code that a model wrote, where it
 * can do no harm.
 *
 * A program in the sandbox has user, mount, process, network, IPC and host-name namespaces of its own. It sees a
 * read-only copy of the system's programs and libraries, /dev/null, /dev/zero and /dev/urandom, and one empty folder
 * that it may write, its working directory, held in RAM. It sees no home directories, no /etc, no /proc, no other
 * processes and no network. A seccomp filter refuses all system calls but those of a table (syscalls.c), and limits of
 * the kernel bound its time, memory, files and processes. Where the machine's memory is full, its processes are the
 * first that the kernel kills. All its processes end with it. */
#pragma once

#include "base/error.h"

#include <stdint.h>

typedef struct SandboxLimits {
    double wall_s;        /* time from start to end */
    int64_t cpu_s;        /* processor time of each process */
    int64_t memory_bytes; /* address space of each process */
    int64_t processes;    /* processes and threads at a time */
    int64_t open_files;   /* of each process */
    int64_t file_bytes;   /* size of a file */
    int64_t folder_bytes; /* size of the writable folder */
    int64_t output_bytes; /* standard output and standard error, each */
} SandboxLimits;

/* 10 seconds, 2 GiB a process, 16 processes, 64 open files, 32 MiB a file, 64 MiB in the folder, 1 MiB of output. */
extern const SandboxLimits sandbox_limits_default;

/* A file that lies in the working directory before the program starts. */
typedef struct SandboxFile {
    const char *name; /* without '/' */
    const char *text;
    size_t n_bytes;
} SandboxFile;

typedef struct SandboxJob {
    const char *const *argv;  /* argv[0] is an absolute path; the list ends with NULL */
    const char *const *shown; /* folders to show besides the system's, the list ends with NULL; NULL means none */
    const SandboxFile *files;
    size_t n_files;
    const char *input; /* standard input */
    size_t n_input;
    SandboxLimits limits;
    bool unsafe; /* in no namespaces: seccomp filter, time, memory and file limits and a new folder alone */
} SandboxJob;

typedef enum SandboxEnd {
    SANDBOX_EXITED, /* status is the exit status */
    SANDBOX_KILLED, /* by a signal, which is status: SIGXCPU for processor time, SIGXFSZ for a file's size … */
    SANDBOX_TIME,   /* took more than wall_s */
    SANDBOX_OUTPUT, /* wrote more than output_bytes */
} SandboxEnd;

typedef struct SandboxResult {
    SandboxEnd end;
    int status;
    GString *out, *err; /* standard output and standard error, cut at output_bytes; any bytes */
    double wall_s;
} SandboxResult;

/* Whether a sandbox can be made here, by making one. The message of the error says what is missing and how the user can
 * get it. */
bool sandbox_check(GError **error);
/* Runs the program to its end; sandbox_result_clear after success. An error (LOAM_ERROR_MACHINE) means that the sandbox
 * could not be made or that argv[0] cannot be executed, never that the program failed. Any number of threads may run
 * programs at once. */
bool sandbox_run(SandboxResult *out, const SandboxJob *job, GError **error);
void sandbox_result_clear(SandboxResult *result);
