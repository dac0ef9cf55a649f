/* table.c: the operation table of one instruction set. */
#include "device/cpu/kernels/kernels.h"

static void cpu_close(Device *dev)
{
    Cpu *cpu = dev->impl;
    free(cpu->workspace);
    free(cpu);
}

void KERNEL(gemm)(Device *dev, Tensor y, Tensor a, Tensor b, bool ta, bool tb, float alpha, float beta)
{
    cpu_gemm(dev, y, a, b, NO_TENSOR, ta, tb, alpha, beta);
}

void KERNEL(linear)(Device *dev, Tensor y, Tensor x, Tensor w, Tensor b, float scale)
{
    cpu_gemm(dev, y, x, w, b, false, true, scale, 0);
}

const OpTable cpu_ops = {
    MEMORY_OF_HOST,
    .group = host_group,
#define KERNEL_ENTRY(name) .name = KERNEL(name),
    OPERATIONS(KERNEL_ENTRY)
#undef KERNEL_ENTRY
        .close = cpu_close,
};
