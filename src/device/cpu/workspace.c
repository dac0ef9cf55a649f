/* cpu/workspace.c: the scratch memory of kernels; apart from cpu.c, which opens the device and so names every kernel.
 */
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
