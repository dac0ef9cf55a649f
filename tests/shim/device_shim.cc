/* device_shim.cc: memory and products of the cuda backend's operations on the host. The memory is as large as
 * LOAM_FAKE_GPU_MEMORY says, in bytes; its fullest moment is written to the file LOAM_FAKE_GPU_REPORT when the device
 * closes: bytes of device_alloc, of scratch memory, of
 * device_host_alloc. */
#include "shim/device_shim_table.h"

extern "C" {
#include "shim/device_shim.h"
}

#include <deque>
#include <map>
#include <stdio.h>
#include <stdlib.h>

/* A copy by QUEUE_UP or QUEUE_DOWN that waits: it is made as late as the order of the queues allows, so who uses its
 * memory without following it gets what was there before. */
struct Copy {
    void *to;
    const void *from;
    size_t bytes, after; /* it follows so many copies of the other of these queues */
};

struct Copies {
    std::deque<Copy> waiting;
    size_t queued, done, after; /* after: of the next copy */
    bool behind;                /* operations were done that this queue does not follow */
};

struct Gpu {
    void *scratch;
    size_t scratch_bytes;
    unsigned tickets[TICKETS];
    std::map<void *, size_t> blocks, host_blocks; /* of device_alloc, of device_host_alloc */
    size_t used, peak, host_used, host_peak;
    Group group;
    Copies copies[QUEUES];
};

Group *gpu_group(Gpu *gpu)
{
    return &gpu->group;
}

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

/* ---- the other queues ---- */

static void copy_until(Gpu *gpu, int queue, size_t end)
{
    Copies *copies = &gpu->copies[queue];
    while (copies->done < end) {
        Copy copy = copies->waiting.front();
        copy_until(gpu, queue == QUEUE_UP ? QUEUE_DOWN : QUEUE_UP, copy.after);
        memcpy(copy.to, copy.from, copy.bytes);
        copies->waiting.pop_front();
        copies->done++;
    }
}

static void queue_copy(Gpu *gpu, int queue, void *to, const void *from, size_t bytes)
{
    Copies *copies = &gpu->copies[queue];
    copies->waiting.push_back({ to, from, bytes, copies->after });
    copies->queued++;
}

static void shim_follow(Device *dev, DeviceQueue queue, DeviceQueue earlier)
{
    Gpu *gpu = gpu_of(dev);
    if (queue == QUEUE_WORK)
        copy_until(gpu, earlier, gpu->copies[earlier].queued);
    else if (earlier == QUEUE_WORK)
        gpu->copies[queue].behind = false;
    else
        gpu->copies[queue].after = gpu->copies[earlier].queued;
}

static void check_host(const Gpu *gpu, const void *p, size_t bytes)
{
    auto next = gpu->host_blocks.upper_bound((void *)p);
    CHECK(next != gpu->host_blocks.begin(), "%p is not memory of device_host_alloc", p);
    auto block = std::prev(next);
    CHECK((const char *)p + bytes <= (char *)block->first + block->second, "%zu bytes at %p leave their memory", bytes,
          p);
}

static void shim_send(Device *dev, void *to, const void *from, size_t bytes)
{
    check_host(gpu_of(dev), from, bytes);
    queue_copy(gpu_of(dev), QUEUE_UP, to, from, bytes);
}

static void shim_fetch(Device *dev, void *to, const void *from, size_t bytes)
{
    check_host(gpu_of(dev), to, bytes);
    CHECK(!gpu_of(dev)->copies[QUEUE_DOWN].behind, "a copy from the GPU does not follow the work before it");
    queue_copy(gpu_of(dev), QUEUE_DOWN, to, from, bytes);
}

static void *shim_host_alloc(Device *dev, size_t bytes)
{
    Gpu *gpu = gpu_of(dev);
    void *p = host_alloc(dev, bytes);
    if (p == NULL)
        return NULL;
    memset(p, 0xFF, bytes);
    gpu->host_blocks[p] = bytes;
    gpu->host_used += bytes;
    gpu->host_peak = gpu->host_used > gpu->host_peak ? gpu->host_used : gpu->host_peak;
    return p;
}

static void shim_host_free(Device *dev, void *p)
{
    Gpu *gpu = gpu_of(dev);
    CHECK(gpu->host_blocks.count(p) == 1, "%p is not memory of device_host_alloc", p);
    for (const Copies &copies : gpu->copies)
        CHECK(copies.done == copies.queued, "%zu copies wait for memory that is freed", copies.queued - copies.done);
    gpu->host_used -= gpu->host_blocks[p];
    gpu->host_blocks.erase(p);
    host_free(dev, p);
}

static void report(const Gpu *gpu)
{
    const char *path = getenv("LOAM_FAKE_GPU_REPORT");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file == NULL)
        return;
    fprintf(file, "%zu %zu %zu\n", gpu->peak, gpu->scratch_bytes, gpu->host_peak);
    fclose(file);
}

static void shim_close(Device *dev)
{
    report(gpu_of(dev));
    CHECK(gpu_of(dev)->blocks.empty(), "%zu blocks of memory are left", gpu_of(dev)->blocks.size());
    CHECK(gpu_of(dev)->host_blocks.empty(), "%zu blocks of the host's memory are left",
          gpu_of(dev)->host_blocks.size());
    free(gpu_of(dev)->scratch);
    delete gpu_of(dev);
}

#define OP(name, parameters, arguments, operands, rules, flops)                                                        \
    static void shim_##name parameters                                                                                 \
    {                                                                                                                  \
        for (Copies & copies : gpu_of(dev)->copies)                                                                    \
            copies.behind = true;                                                                                      \
        gpu_##name arguments;                                                                                          \
    }
#include "device/op_list.inc"
#undef OP

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
    table.group = group_set;
    table.host_alloc = shim_host_alloc;
    table.host_free = shim_host_free;
    table.send = shim_send;
    table.fetch = shim_fetch;
    table.follow = shim_follow;
#define OP(name, parameters, arguments, operands, rules, flops) table.name = shim_##name;
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

extern "C" int64_t device_shim_launches(void)
{
    return shim_launches();
}
