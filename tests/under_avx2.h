/* under_avx2.h: a test program runs itself again as on a processor that has AVX2 alone. It takes a process of its own,
 * since oneDNN settles on an instruction set at its first use. */
#pragma once

#include "device/cpu/cpu.h"

#include <glib.h>
#include <string.h>

/* Whether this process computes with the least of the instruction sets that loam has kernels for: AVX2 on x86-64, the
 * only one on aarch64. The kernels of GPUs have no such sets. */
static inline bool under_avx2(void)
{
#if !defined __x86_64__ || defined RIG_SHIM
    return true;
#endif
    Device *dev = device_open_cpu(1, precision_uniform(DT_F32));
    bool is = strcmp(dev->isa, "avx2") == 0;
    device_close(dev);
    return is;
}

/* The tests below `path` of this program, or all of it where path is NULL, under LOAM_CPU_ISA=avx2. They must pass. */
static inline void run_under_avx2(const char *path)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    char *argv[] = { self, path ? "-p" : NULL, (char *)path, NULL };
    g_auto(GStrv) environment = g_environ_setenv(g_get_environ(), "LOAM_CPU_ISA", "avx2", TRUE);
    int status = -1;
    g_assert_true(g_spawn_sync(NULL, argv, environment, 0, NULL, NULL, NULL, NULL, &status, NULL));
    g_assert_true(g_spawn_check_wait_status(status, NULL));
}
