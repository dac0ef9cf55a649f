/* isa.h: the instruction sets for which loam has kernels. */
#pragma once

#include "device/cpu/cpu.h"

typedef struct Isa {
    const char *name;
    bool (*has)(void); /* whether this processor and the operating system support it */
    const OpTable *ops;
    const Bf16Products *bf16; /* NULL means that it has no instructions for products of bf16 */
    bool (*fast_bf16)(void);  /* whether products of bf16 are faster than products of f32; NULL if there are none */
} Isa;

/* The best instruction set of this processor, or the one that LOAM_CPU_ISA names if it is a lower one (see
 * device_cpu_problem). */
const Isa *cpu_isa(void);

/* Makes the calling thread treat denormal numbers (below 1.2e-38 in f32) as zero. */
void cpu_flush_denormals(void);
