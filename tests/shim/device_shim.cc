/* device_shim.cc: memory and products of the cuda backend's operations on the host. */
#include "shim/device_shim_table.h"

extern "C" {
#include "shim/device_shim.h"
}

#include <stdlib.h>

struct Gpu {
    void *scratch;
    size_t scratch_bytes;
    unsigned tickets[TICKETS];
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

static void shim_close(Device *dev)
{
    free(gpu_of(dev)->scratch);
    delete gpu_of(dev);
}

static OpTable table_of(void)
{
    OpTable table = {};
    table.close = shim_close;
    table.alloc = host_alloc;
    table.free = host_free;
    table.upload = table.download = host_copy;
    table.record = host_record;
    table.wait = host_wait;
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
