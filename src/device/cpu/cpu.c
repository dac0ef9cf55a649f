/* cpu.c: the cpu backend: matrix products by oneDNN, the rest by the kernels, built once per instruction set. */
#include "device/cpu/cpu.h"
#include "base/check.h"
#include "base/fatal.h"

#include <omp.h>

bool device_cpu_bf16(void)
{
    const Isa *isa = cpu_isa();
    return isa->fast_bf16 && isa->fast_bf16();
}

/* Makes all threads treat denormal numbers as 0: arithmetic on them is up to a hundred times slower, and no result of a
 * model depends on them. The setting is a thread's; later OpenMP threads inherit it from their creator. */
static void flush_denormals(int threads)
{
    cpu_flush_denormals(); /* LLVM's OpenMP restores the calling thread's setting at the end of a region */
#pragma omp parallel num_threads(threads)
    cpu_flush_denormals();
}

/* Checks that the kernels support the dtypes. */
static void check_precision(Precision p)
{
    CHECK(p.compute == DT_F32 || p.compute == DT_BF16 || p.compute == DT_F16, "compute in %s", dtype_name(p.compute));
    CHECK(p.residual == DT_F32 || p.residual == p.compute, "a residual stream of %s", dtype_name(p.residual));
    CHECK(p.grad == DT_F32 || p.grad == p.compute, "gradients of %s", dtype_name(p.grad));
    CHECK(p.master == DT_F32 && p.state == DT_F32, "masters of %s, states of %s", dtype_name(p.master),
          dtype_name(p.state));
}

/* Disables OpenMP's dynamic number of threads: kernels need exactly the number of threads that they request, so that
 * sums are always added in the same order. */
Device *device_open_cpu(int threads, Precision precision)
{
    check_precision(precision);
    const Isa *isa = cpu_isa();
    cpu_gemm_limit(isa->name);
    Cpu *cpu = calloc(1, sizeof *cpu);
    if (cpu == NULL)
        fatal_memory("the cpu device");
    cpu->bf16 = isa->bf16;
    if (threads <= 0)
        threads = omp_get_max_threads();
    if (threads > omp_get_thread_limit())
        threads = omp_get_thread_limit();
    omp_set_dynamic(false);
    flush_denormals(threads);
    return device_new("cpu", isa->ops, precision, true, threads, isa->name, cpu);
}
