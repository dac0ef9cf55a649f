/* cpu/workspace.c: the scratch memory of kernels; apart from cpu.c, which opens the device and so names every kernel.
 */
#include "base/fatal.h"
#include "device/cpu/cpu.h"

#include <stdlib.h>

void *cpu_workspace(Device *dev, size_t bytes)
{
    Cpu *cpu = dev->impl;
    if (bytes > cpu->workspace_bytes) {
        free(cpu->workspace);
        cpu->workspace_bytes = (bytes + 63) / 64 * 64;
        cpu->workspace = aligned_alloc(64, cpu->workspace_bytes);
        if (cpu->workspace == NULL)
            fatal_memory("a workspace");
    }
    return cpu->workspace;
}
