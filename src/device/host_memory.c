/* host_memory.c: memory and transfers of devices that compute in memory of the host, without a queue. */
#include "device/op_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

#define ALIGN ((size_t)64)
#define HUGE  ((size_t)2 << 20) /* a huge page: arenas and parameters in such pages are copied half as fast again */
#define SMALL                                                                                                          \
    ((size_t)4 << 10) /* the pages behind the last whole huge page: a seventh of a small block would be unused */

void *host_alloc(Device *dev, size_t bytes)
{
    size_t unit = bytes >= HUGE ? SMALL : ALIGN, rounded = ((bytes ? bytes : 1) + unit - 1) / unit * unit;
    void *p;
    if (rounded < bytes || posix_memalign(&p, bytes >= HUGE ? HUGE : ALIGN, rounded) != 0)
        return NULL;
    if (bytes >= HUGE)
        (void)madvise(p, rounded, MADV_HUGEPAGE); /* only a hint to the kernel */
    memset(p, 0, rounded);                        /* allocates the pages now, not during the first step */
    return p;
}

void host_free(Device *dev, void *p)
{
    free(p);
}

void host_copy(Device *dev, void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

DeviceEvent host_record_event(Device *dev)
{
    return 0;
}

void host_wait_event(Device *dev, DeviceEvent event)
{
}

size_t host_memory_available(Device *dev)
{
    return SIZE_MAX;
}

void host_group(Device *dev, bool open)
{
}

/* Operations are executed as they are called, so nothing is gained by noting them. */
void host_repeat(Device *dev, const void *owner, int64_t number, void (*queue)(void *data), void *data)
{
    queue(data);
}

void host_forget(Device *dev, const void *owner)
{
}

void host_follow(Device *dev, DeviceQueue queue, DeviceQueue earlier)
{
}
