/* syscalls.h: the seccomp filter of a sandbox. */
#pragma once

#include <linux/filter.h>

/* The seccomp filter of a sandbox. System calls that are not in its table fail with EPERM, and so does clone() with a
 * flag for a new namespace. clone3() fails with ENOSYS, so that the C library uses clone() instead. System calls of
 * another architecture kill the process. The filter is static data and must not be freed. */
struct sock_fprog sandbox_filter(void);
