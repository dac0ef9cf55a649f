/* isa.h: the instruction sets that loam has kernels for. */
#pragma once

#include "device/cpu/cpu.h"

typedef struct Isa {
    const char *name;
    bool (*has)(void); /* whether this processor and kernel offer it */
    const OpTable *ops;
    const Bf16Products *bf16; /* NULL: it has no products of bf16 */
    bool (*fast_bf16)(void);  /* whether they are faster than products of f32; NULL: there are none */
} Isa;

/* The best instruction set of this processor, or the one that LOAM_CPU_ISA names if it is a lower one (see
 * device_cpu_problem). */
const Isa *cpu_isa(void);

/* The calling thread reads and writes denormal numbers (below 1.2e-38 in f32) as zero. */
void cpu_flush_denormals(void);
