/* cpu/workspace.c: scratch memory of kernels. It is not in cpu.c, since that file refers to all kernels. */
#include "base/fatal.h"
#include "device/cpu/cpu.h"

void *cpu_workspace(Device *dev, size_t bytes)
{
    Cpu *cpu = dev->impl;
    if (bytes > cpu->workspace_bytes) {
        host_free(dev, cpu->workspace);
        cpu->workspace_bytes = bytes;
        cpu->workspace = host_alloc(dev, bytes);
        if (cpu->workspace == NULL)
            fatal_memory("a workspace");
    }
    return cpu->workspace;
}
