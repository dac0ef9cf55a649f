/* isa.h: the instruction sets for which loam has kernels. */
#pragma once

#include "device/cpu/cpu.h"

typedef struct Isa {
    const char *name;
    bool (*has)(void);        /* whether this processor and its operating system support the instruction set */
    const OpTable *ops;       /* the kernels that are compiled for it */
    const Bf16Products *bf16; /* NULL means that it has no instructions for products of bf16 */
    bool (*fast_bf16)(void);  /* whether products of bf16 are faster than products of f32 on this processor; NULL if
                                 there are no products of bf16 */
} Isa;

/* The newest instruction set of this processor for which loam has kernels; or an older one, if the environment variable
 * LOAM_CPU_ISA names it (see device_cpu_problem in device.h). */
const Isa *cpu_isa(void);

/* Makes the calling thread treat denormal numbers (below 1.2e-38 in f32) as zero. */
void cpu_flush_denormals(void);
