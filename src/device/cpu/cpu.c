/* cpu: matrix products by oneDNN, everything else by the kernels, which are built once for each instruction set. */
#include "device/cpu/cpu.h"

#include "base/check.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    const OpTable *ops;
} isas[] = { { "avx2", &cpu_ops_avx2 }, { "avx512", &cpu_ops_avx512 } };

/* The best instruction set of this processor, or the lower one if LOAM_CPU_ISA=avx2 asks for it. */
static size_t choose_isa(void)
{
    CHECK(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"), "loam needs a processor with AVX2 and FMA");
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    const char *forced = getenv("LOAM_CPU_ISA");
    return avx512 && (forced == NULL || strcmp(forced, "avx2") != 0);
}

Device *device_open_cpu(int threads)
{
    size_t isa = choose_isa();
    cpu_gemm_limit(isas[isa].name);
    Cpu *cpu = calloc(1, sizeof *cpu);
    CHECK(cpu != NULL, "no memory for the cpu device");
    if (threads <= 0)
        threads = omp_get_max_threads();
    return device_new("cpu", isas[isa].ops, precision_uniform(DT_F32), true, threads, isas[isa].name, cpu);
}

void *cpu_workspace(Device *dev, size_t bytes)
{
    Cpu *cpu = dev->impl;
    if (bytes > cpu->workspace_bytes) {
        free(cpu->workspace);
        cpu->workspace_bytes = (bytes + 63) / 64 * 64;
        cpu->workspace = aligned_alloc(64, cpu->workspace_bytes);
        CHECK(cpu->workspace != NULL, "no memory for a workspace of %zu bytes", bytes);
    }
    return cpu->workspace;
}
