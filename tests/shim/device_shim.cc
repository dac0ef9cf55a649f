/* device_shim.cc: memory and products of the cuda backend's operations on the host. The memory is as large as
 * LOAM_FAKE_GPU_MEMORY says, in bytes; its fullest moment is written to the file LOAM_FAKE_GPU_REPORT when the device
 * closes: bytes of device_alloc, and of scratch memory. */
#include "shim/device_shim_table.h"

extern "C" {
#include "shim/device_shim.h"
}

#include <map>
#include <stdio.h>
#include <stdlib.h>

struct Gpu {
    void *scratch;
    size_t scratch_bytes;
    unsigned tickets[TICKETS];
    std::map<void *, size_t> blocks; /* of device_alloc */
    size_t used, peak;
};

/* Fresh for each operation: one that reads what an earlier one left there reads NaN. */
void *gpu_scratch(Gpu *gpu, size_t bytes)
{
    if (bytes > gpu->scratch_bytes) {
        free(gpu->scratch);
        gpu->scratch_bytes = (bytes + 255) / 256 * 256;
        gpu->scratch = aligned_alloc(256, gpu->scratch_bytes);
        CHECK(gpu->scratch != NULL, "no memory for %zu bytes", bytes);
    }
    memset(gpu->scratch, 0xFF, gpu->scratch_bytes);
    return gpu->scratch;
}

unsigned *gpu_tickets(Gpu *gpu)
{
    for (unsigned ticket : gpu->tickets)
        CHECK(ticket == 0, "a ticket of an earlier operation is %u", ticket);
    return gpu->tickets;
}

void gpu_copy_rows(Gpu *gpu, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes, size_t rows)
{
    (void)gpu;
    for (size_t i = 0; i < rows; i++)
        memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, bytes);
}

size_t shim_memory(void)
{
    const char *text = getenv("LOAM_FAKE_GPU_MEMORY");
    return text ? (size_t)atoll(text) : (size_t)1 << 30;
}

static size_t shim_room(Device *dev)
{
    const Gpu *gpu = gpu_of(dev);
    return shim_memory() - gpu->used;
}

static void *shim_alloc(Device *dev, size_t bytes)
{
    Gpu *gpu = gpu_of(dev);
    void *p = bytes <= shim_room(dev) ? host_alloc(dev, bytes) : NULL;
    if (p == NULL)
        return NULL;
    memset(p, 0xFF, bytes); /* NaN: who needs zeros writes them */
    gpu->blocks[p] = bytes;
    gpu->used += bytes;
    gpu->peak = gpu->used > gpu->peak ? gpu->used : gpu->peak;
    return p;
}

static void shim_free(Device *dev, void *p)
{
    Gpu *gpu = gpu_of(dev);
    CHECK(gpu->blocks.count(p) == 1, "%p is not memory of the GPU", p);
    gpu->used -= gpu->blocks[p];
    gpu->blocks.erase(p);
    host_free(dev, p);
}

static void report(const Gpu *gpu)
{
    const char *path = getenv("LOAM_FAKE_GPU_REPORT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file == NULL)
        return;
    fprintf(file, "%zu %zu\n", gpu->peak, gpu->scratch_bytes);
    fclose(file);
}

static void shim_close(Device *dev)
{
    report(gpu_of(dev));
    CHECK(gpu_of(dev)->blocks.empty(), "%zu blocks of memory are left", gpu_of(dev)->blocks.size());
    free(gpu_of(dev)->scratch);
    delete gpu_of(dev);
}

static OpTable table_of(void)
{
    OpTable table = {};
    table.close = shim_close;
    table.alloc = shim_alloc;
    table.free = shim_free;
    table.upload = table.download = host_copy;
    table.record = host_record;
    table.wait = host_wait;
    table.room = shim_room;
#define OP(name, parameters, arguments, operands, rules, flops) table.name = gpu_##name;
#include "device/op_list.inc"
#undef OP
    return table;
}

const OpTable *shim_table(void)
{
    static const OpTable table = table_of();
    return &table;
}

Gpu *shim_gpu_new(void)
{
    return new Gpu();
}

extern "C" void device_shim_order(int order)
{
    shim_set_order((ShimOrder)order);
}
