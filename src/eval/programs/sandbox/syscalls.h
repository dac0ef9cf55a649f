/* syscalls.h: the seccomp filter of a sandbox. */
#pragma once

#include <glib.h>
#include <linux/filter.h>

/* A program of the kernel's filter. Its table has about 150 calls, and a call takes at most three instructions. */
typedef struct SandboxFilter {
    struct sock_filter code[1024];
    unsigned short length;
} SandboxFilter;

/* The filter of a sandbox, which is made once. System calls that are not in its table fail with EPERM, and so does
 * clone() with a flag for a new namespace. clone3() fails with ENOSYS, so that the C library uses clone() instead.
 * System calls of another architecture kill the process. */
const SandboxFilter *sandbox_filter(GError **error);
