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
    Bf16Gemm *bf16_gemm;
} isas[] = {
    { "avx2", has_avx2, &cpu_ops_avx2, NULL },
    { "avx512", has_avx512, &cpu_ops_avx512, NULL },
    { "avx512_bf16", has_avx512_bf16, &cpu_ops_avx512, bf16_gemm_avx512_bf16 },
    { "amx", has_amx, &cpu_ops_avx512, bf16_gemm_amx },
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

/* Whether the operating system saves the tiles of AMX (bits 17 and 18 of XCR0) and lets this process use them. */
static bool tiles_allowed(void)
{
    enum { OSXSAVE = 1 << 27, TILES = 3 << 17, ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18 };
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE))
        return false;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return (a & TILES) == TILES && syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA) == 0;
}

const char *device_cpu_bf16(void)
{
    enum { AVX512_BF16 = 1 << 5, AMX_BF16 = 1 << 22, AMX_TILE = 1 << 24 };
    unsigned a, b, c, d;
    if (strcmp(isas[choose_isa()].name, "avx512") != 0)
        return NULL;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && d & AMX_BF16 && d & AMX_TILE && tiles_allowed())
        return "amx";
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && a & AVX512_BF16 ? "avx512_bf16" : NULL;
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
    cpu->bf16_gemm = isas[isa].bf16_gemm;
    if (threads <= 0)
        threads = omp_get_max_threads();
    flush_denormals(threads);
    return device_new("cpu", isas[isa].ops, precision, true, threads, isas[isa].name, cpu);
}
