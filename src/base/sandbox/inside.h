/* inside.h: what happens in the child process of a sandbox between clone() and execve(). Only system calls and memory
 * that the parent prepared: the parent may have threads, whose locks nobody releases in the child. */
#pragma once

#include "base/sandbox/sandbox.h"

#include <linux/filter.h>

#define SANDBOX_MAX_SHOWN 20

/* A path of the machine that programs in the sandbox see read-only. */
typedef struct Shown {
    char *path;  /* "/usr/lib" */
    char *link;  /* NULL, or the target of the symbolic link that it is: "usr/lib" */
    bool folder; /* otherwise a file or device */
} Shown;

/* Everything that the child needs, prepared by the parent. */
typedef struct Inside {
    const SandboxJob *job;
    char **env;
    char *folder; /* SandboxJob.unsafe: the working directory */
    Shown shown[SANDBOX_MAX_SHOWN];
    int n_shown;
    char folder_options[64]; /* of the mount of the writable folder */
    struct sock_fprog filter;
    int input, out, err; /* standard streams of the program */
    int report;          /* Report is written here */
    int parent;          /* gives IDS_NOBODY or IDS_USER when the maps of ids are written, ends with the parent */
} Inside;

/* What the child tells the parent. */
typedef struct Report {
    int error;       /* errno of a step that failed; 0 means that the program ran and ended with wait_status */
    char step[64];   /* "mounting /usr" */
    int wait_status; /* of waitpid() */
} Report;

/* The working directory of a program, unless it runs unsafely. */
#define SANDBOX_FOLDER "/sandbox"

/* The id that programs in the sandbox have, and the id that it is outside. */
#define SANDBOX_ID 65534
#define IDS_NOBODY 'n' /* 65534, which owns nothing; the parent is root */
#define IDS_USER   'u' /* the parent's */

/* Never returns. */
_Noreturn void sandbox_inside(const Inside *inside);
