/* cpu: matrix products by oneDNN, everything else by the kernels, which are built once for each instruction set. */
#include "device/cpu/cpu.h"

#include "base/check.h"
#include "base/fatal.h"
#include "device/cpu/bf16/bf16.h"

#include <cpuid.h>
#include <omp.h>
#include <pmmintrin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static bool has_avx512_bf16(void)
{
    return has_avx512() && __builtin_cpu_supports("avx512bf16");
}

/* AMX's registers are large: Linux lets a process use them on request (Documentation/x86/xstate.rst). */
static bool has_amx(void)
{
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
    unsigned a, b, c, d;
    bool bits = __get_cpuid_count(7, 0, &a, &b, &c, &d) && d & 1u << 22 && d & 1u << 24; /* AMX-BF16, AMX-TILE */
    return has_avx512_bf16() && bits && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

/* Instruction sets, each with all of those before it. */
static const struct {
    const char *name;
    bool (*has)(void);
    const OpTable *ops;
    const Bf16Products *bf16;
} isas[] = {
    { "avx2", has_avx2, &cpu_ops_avx2, NULL },
    { "avx512", has_avx512, &cpu_ops_avx512, NULL },
    { "avx512_bf16", has_avx512_bf16, &cpu_ops_avx512_bf16, &bf16_products_avx512_bf16 },
    { "amx", has_amx, &cpu_ops_avx512_bf16, &bf16_products_amx },
};
enum { ISAS = sizeof isas / sizeof *isas };

/* The best instruction set of this processor, or that which LOAM_CPU_ISA names if it is a lower one. */
static size_t choose_isa(void)
{
    size_t best = 0;
    const char *forced = getenv("LOAM_CPU_ISA");
    CHECK(isas[0].has(), "loam needs a processor with AVX2 and FMA");
    while ((forced == NULL || strcmp(forced, isas[best].name) != 0) && best + 1 < ISAS && isas[best + 1].has())
        best++;
    return best;
}

bool device_cpu_bf16(void)
{
    return isas[choose_isa()].bf16 != NULL;
}

/* Denormal numbers (below 1.2e-38 in f32) are read and written as zero: arithmetic on them is up to a hundred times
 * slower, and nothing that a model computes depends on them. The setting belongs to a thread; OpenMP's threads that are
 * made later inherit it from the thread that makes them. */
static void flush_denormals(int threads)
{
#pragma omp parallel num_threads(threads)
    _mm_setcsr(_mm_getcsr() | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON);
}

/* The dtypes that the kernels are made for. */
static void check_precision(Precision p)
{
    CHECK(p.compute == DT_F32 || p.compute == DT_BF16 || p.compute == DT_F16, "compute in %s", dtype_name(p.compute));
    CHECK(p.residual == DT_F32 || p.residual == p.compute, "a residual stream of %s", dtype_name(p.residual));
    CHECK(p.grad == DT_F32 || p.grad == p.compute, "gradients of %s", dtype_name(p.grad));
    CHECK(p.master == DT_F32 && p.state == DT_F32, "masters of %s, states of %s", dtype_name(p.master),
          dtype_name(p.state));
}

Device *device_open_cpu(int threads, Precision precision)
{
    check_precision(precision);
    size_t isa = choose_isa();
    cpu_gemm_limit(isas[isa].name);
    Cpu *cpu = calloc(1, sizeof *cpu);
    if (cpu == NULL)
        fatal_memory("the cpu device");
    cpu->bf16 = isas[isa].bf16;
    if (threads <= 0)
        threads = omp_get_max_threads();
    flush_denormals(threads);
    return device_new("cpu", isas[isa].ops, precision, true, threads, isas[isa].name, cpu);
}
