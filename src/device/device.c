#include "base/check.h"
#include "base/fatal.h"
#include "device/op_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGN 64
#define HUGE  ((size_t)2 << 20) /* a huge page: arenas and parameters in such pages are copied half as fast again */

/* A table holds nothing but function pointers, so a forgotten row is a run of zero bytes. */
static void check_complete(const char *name, const OpTable *ops)
{
    void (*entries[sizeof *ops / sizeof(void (*)(void))])(void);
    _Static_assert(sizeof entries == sizeof *ops, "an operation table holds function pointers only");
    memcpy(entries, ops, sizeof entries);
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        CHECK(entries[i] != NULL, "device %s lacks entry %zu of its operation table", name, i);
}

Device *device_new(const char *name, const OpTable *ops, DType real, bool computes, int threads, const char *isa,
                   void *impl)
{
    check_complete(name, ops);
    Device *dev = malloc(sizeof *dev);
    if (dev == NULL)
        fatal_memory("a device");
    *dev = (Device){
        .name = name, .ops = ops, .real = real, .computes = computes, .threads = threads, .isa = isa, .impl = impl
    };
    return dev;
}

void device_close(Device *dev)
{
    if (dev == NULL)
        return;
    dev->ops->close(dev);
    free(dev);
}

int device_threads(const Device *dev)
{
    return dev->threads;
}

const char *device_isa(const Device *dev)
{
    return dev->isa;
}

void *device_alloc(Device *dev, size_t bytes)
{
    if (!dev->computes)
        return (void *)ALIGN; /* in page 0: any use of it traps */
    size_t align = bytes >= HUGE ? HUGE : ALIGN, rounded = ((bytes ? bytes : 1) + align - 1) / align * align;
    if (rounded < bytes)
        return NULL;
    void *p = aligned_alloc(align, rounded);
    if (p == NULL)
        return NULL;
    if (bytes >= HUGE)
        (void)madvise(p, rounded, MADV_HUGEPAGE); /* a wish, not a need */
    memset(p, 0, rounded);
    return p;
}

void device_free(Device *dev, void *p)
{
    if (dev->computes)
        free(p);
}
