/* cpu: matrix products by oneDNN, everything else by the kernels, which are built once for each instruction set. */
#include "device/cpu/cpu.h"

#include "base/check.h"
#include "base/fatal.h"

#include <omp.h>
#include <pmmintrin.h>
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

/* Denormal numbers (below 1.2e-38 in f32) are read and written as zero: arithmetic on them is up to a hundred times
 * slower, and nothing that a model computes depends on them. The setting belongs to a thread; OpenMP's threads that are
 * made later inherit it from the thread that makes them. */
static void flush_denormals(int threads)
{
#pragma omp parallel num_threads(threads)
    _mm_setcsr(_mm_getcsr() | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON);
}

Device *device_open_cpu(int threads)
{
    size_t isa = choose_isa();
    cpu_gemm_limit(isas[isa].name);
    Cpu *cpu = calloc(1, sizeof *cpu);
    if (cpu == NULL)
        fatal_memory("the cpu device");
    if (threads <= 0)
        threads = omp_get_max_threads();
    flush_denormals(threads);
    return device_new("cpu", isas[isa].ops, precision_uniform(DT_F32), true, threads, isas[isa].name, cpu);
}
