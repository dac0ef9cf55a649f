/* syscalls.h: the seccomp filter of a sandbox. */
#pragma once

#include <linux/filter.h>

/* The filter: system calls outside of a table fail with EPERM (clone3 with ENOSYS, after which the C library takes
 * clone), clone() with flags of new namespaces too; those of another architecture kill the process. It lives as long as
 * the process. */
struct sock_fprog sandbox_filter(void);
