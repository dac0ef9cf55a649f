/* syscalls.h: the seccomp filter of a sandbox. */
#pragma once

#include <linux/filter.h>

/* The seccomp filter of a sandbox. System calls that are not in its table fail with EPERM, and so does clone() with
 * flags of new namespaces; clone3 fails with ENOSYS, after which the C library uses clone(). System calls of another
 * architecture kill the process. The filter lives as long as the process. */
struct sock_fprog sandbox_filter(void);
