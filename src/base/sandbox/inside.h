/* inside.h: the child process of a sandbox between clone() and execve(). It may only use system calls and memory that
 * the parent prepared: the parent may have threads, whose locks nobody would release in the child. */
#pragma once

#include "base/sandbox/sandbox.h"

#include <linux/filter.h>

#define SANDBOX_MAX_SHOWN 20

/* A path of this machine that programs in the sandbox see, read-only. */
typedef struct Shown {
    char *path;  /* "/usr/lib" */
    char *link;  /* if the path is a symbolic link, its target, such as "usr/lib"; otherwise NULL */
    bool folder; /* otherwise a file or device */
} Shown;

/* Everything that the child needs, prepared by the parent. */
typedef struct Inside {
    const SandboxJob *job;
    char **env;
    char *folder; /* the working directory of an unsafe job (SandboxJob.unsafe) */
    Shown shown[SANDBOX_MAX_SHOWN];
    int n_shown;
    char folder_options[64]; /* mount options of the writable folder (a tmpfs) */
    struct sock_fprog filter;
    int input, out, err; /* standard streams of the program */
    int report;          /* descriptor to which the child writes its Report */
    int parent; /* pipe from the parent: sends IDS_NOBODY or IDS_USER when the maps of user ids are written; closes if
                   the parent ends */
} Inside;

/* What the child tells the parent. */
typedef struct Report {
    int error;       /* errno of the step that failed; 0 means that the program ran and ended with wait_status */
    char step[64];   /* "mounting /usr" */
    int wait_status; /* of waitpid() */
} Report;

/* The working directory of a program, unless the job is unsafe. */
#define SANDBOX_FOLDER "/sandbox"

/* The user and group id that programs in the sandbox have; IDS_* says which id outside it is mapped to. */
#define SANDBOX_ID 65534
#define IDS_NOBODY 'n' /* mapped to 65534, which owns nothing, since the parent is root */
#define IDS_USER   'u' /* mapped to the parent's own id */

/* Runs the job in this child process and reports to the parent. Never returns. */
_Noreturn void sandbox_inside(const Inside *inside);
