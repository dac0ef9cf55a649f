/* isa.c: the table of instruction sets, and other code for each processor architecture, except the kernels. */
#include "base/check.h"
#include "device/cpu/bf16/bf16.h"

#include <string.h>

#if defined __x86_64__

#include <cpuid.h>
#include <pmmintrin.h>
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

/* Intel's VDPBF16PS takes as long as four multiply-adds of f32 and does the work of two (100 against 216 GFLOP/s per
 * thread on a Xeon of 2024); AMD's takes as long as one and does the work of two. */
static bool has_fast_avx512_bf16(void)
{
    return has_avx512_bf16() && !__builtin_cpu_is("intel");
}

/* Each instruction set includes all earlier ones. */
static const Isa isas[] = {
    { "avx2", has_avx2, &cpu_ops_avx2, NULL, NULL },
    { "avx512", has_avx512, &cpu_ops_avx512, NULL, NULL },
    { "avx512_bf16", has_avx512_bf16, &cpu_ops_avx512_bf16, &bf16_products_avx512_bf16, has_fast_avx512_bf16 },
    { "amx", has_amx, &cpu_ops_avx512_bf16, &bf16_products_amx, has_amx },
};
static const char needed[] = "AVX2 and FMA";

void cpu_flush_denormals(void)
{
    _mm_setcsr(_mm_getcsr() | _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON);
}

#elif defined __aarch64__

/* Every aarch64 processor that runs Linux has Advanced SIMD ("NEON"). */
static bool has_neon(void)
{
    return true;
}

static const Isa isas[] = { { "neon", has_neon, &cpu_ops_neon, NULL, NULL } };
static const char needed[] = "NEON";

void cpu_flush_denormals(void)
{
    enum { FLUSH_TO_ZERO = 1 << 24 }; /* bit FZ of the register FPCR: flush denormal numbers to zero */
    __builtin_aarch64_set_fpcr(__builtin_aarch64_get_fpcr() | FLUSH_TO_ZERO);
}

#endif

enum { ISAS = sizeof isas / sizeof *isas };

const char *device_cpu_problem(void)
{
    static char text[160];
    const char *forced = getenv("LOAM_CPU_ISA"), *gap = "";
    int known = -1;
    if (!isas[0].has()) {
        (void)snprintf(text, sizeof text, "loam needs a processor with %s, which this one lacks", needed);
        return text;
    }
    for (int i = 0; forced && i < ISAS; i++)
        known = strcmp(forced, isas[i].name) == 0 ? i : known;
    if (forced == NULL || *forced == '\0' || (known >= 0 && isas[known].has()))
        return NULL;
    int n = snprintf(text, sizeof text, "LOAM_CPU_ISA=%.40s: this processor has ", forced);
    for (int i = 0; i < ISAS && isas[i].has(); i++, gap = ", ")
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", gap, isas[i].name);
    return text;
}

const Isa *cpu_isa(void)
{
    const char *forced = getenv("LOAM_CPU_ISA");
    const Isa *best = isas;
    CHECK(isas[0].has(), "loam needs a processor with %s", needed);
    while ((forced == NULL || strcmp(forced, best->name) != 0) && best + 1 < isas + ISAS && best[1].has())
        best++;
    return best;
}
