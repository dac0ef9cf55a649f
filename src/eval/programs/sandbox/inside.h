/* inside.h: the child process of a sandbox between clone() and execve(). It may only make system calls and use memory
 * that the parent has prepared: if another thread of the parent held a lock, nobody would release it in the child. */
#pragma once

#include "eval/programs/sandbox/sandbox.h"

#include <linux/filter.h>

/* ---- syscalls.c ---- */

/* A program of the kernel's filter. Its table has about 150 calls, and a call takes at most three instructions. */
typedef struct SandboxFilter {
    struct sock_filter code[1024];
    unsigned short length;
} SandboxFilter;

/* The filter of a sandbox, which is made once. System calls that are not in its table fail with EPERM, and so does
 * clone() with a flag for a new namespace. clone3() fails with ENOSYS, so that the C library uses clone() instead.
 * System calls of another architecture kill the process. */
const SandboxFilter *sandbox_filter(GError **error);

/* ---- inside.c ---- */

/* Largest number of paths that programs in the sandbox see. */
#define SANDBOX_MAX_SHOWN 20

/* A path of this machine that programs in the sandbox can read. */
typedef struct Shown {
    char *path;  /* "/usr/lib" */
    char *link;  /* if the path is a symbolic link, its target, such as "usr/lib"; otherwise NULL */
    bool folder; /* true: a folder; false: a file or a device */
} Shown;

/* Everything that the child needs, prepared by the parent. */
typedef struct Inside {
    const SandboxJob *job;
    char **env;
    char *folder; /* working directory of the program if the job is unsafe (SandboxJob.unsafe) */
    Shown shown[SANDBOX_MAX_SHOWN];
    int n_shown;
    char folder_options[64]; /* mount options of the writable folder (a tmpfs) */
    const SandboxFilter *filter;
    int input, out, err; /* standard streams of the program */
    int report;          /* descriptor to which the child writes its Report */
    int parent; /* pipe from the parent, which sends IDS_NOBODY or IDS_USER when it has written the maps of user ids;
                   the pipe closes if the parent ends */
} Inside;

/* What the child reports to the parent. */
typedef struct Report {
    int error;       /* errno of the step that failed; 0 means that the program ran and ended with wait_status */
    char step[64];   /* the step that failed, such as "mounting /usr" */
    int wait_status; /* how the program ended, as waitpid() says it */
} Report;

/* The working directory of a program, unless the job is unsafe. */
#define SANDBOX_FOLDER "/sandbox"

/* User and group id of programs in the sandbox. IDS_NOBODY and IDS_USER say which id of the machine it maps to. */
#define SANDBOX_ID 65534
#define IDS_NOBODY 'n' /* the parent is root: mapped to 65534, which owns no files */
#define IDS_USER   'u' /* mapped to the id of the parent */

/* Runs the job in this child process and reports to the parent. Never returns. */
_Noreturn void sandbox_inside(const Inside *inside);
