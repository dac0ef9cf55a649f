/* op_table.h: the functions of a backend: memory, transfers, and one kernel for each operation of ops.h, whose
 * arguments have been checked. Every entry must be filled: device_new finds a missing one when the device is opened. */
#pragma once

#include "device/device.h"

struct OpTable {
    void (*close)(Device *dev); /* frees dev->impl; device_close frees dev itself */

    /* Each does what the function device_NAME of device.h says. */
    void *(*alloc)(Device *dev, size_t bytes);
    void (*free)(Device *dev, void *p);
    void (*upload)(Device *dev, void *to, const void *from, size_t bytes);
    void (*download)(Device *dev, void *to, const void *from, size_t bytes);
    DeviceEvent (*record_event)(Device *dev);
    void (*wait_event)(Device *dev, DeviceEvent event);
    size_t (*memory_available)(Device *dev);
    void (*group)(Device *dev, bool open); /* device_group_begin, device_group_end */
    void *(*host_alloc)(Device *dev, size_t bytes);
    void (*host_free)(Device *dev, void *p);
    void (*copy_to)(Device *dev, void *to, const void *from, size_t bytes);
    void (*copy_from)(Device *dev, void *to, const void *from, size_t bytes);
    void (*follow)(Device *dev, DeviceQueue queue, DeviceQueue earlier);

#define OP(name, parameters, arguments, operands, rules, flops) void(*name) parameters;
#include "device/op_list.inc"
#undef OP
};

/* The entries, but for `group`, of a device that computes at once in memory of the host. */
#define MEMORY_OF_HOST                                                                                                 \
    .alloc = host_alloc, .free = host_free, .upload = host_copy, .download = host_copy,                                \
    .record_event = host_record_event, .wait_event = host_wait_event, .memory_available = host_memory_available,       \
    QUEUE_OF_HOST
/* The entries of a device that has one queue, and nothing to gain from memory of the host. */
#define QUEUE_OF_HOST                                                                                                  \
    .host_alloc = host_alloc, .host_free = host_free, .copy_to = host_copy, .copy_from = host_copy,                    \
    .follow = host_follow
void *host_alloc(Device *dev, size_t bytes);
void host_free(Device *dev, void *p);
void host_copy(Device *dev, void *to, const void *from, size_t bytes);
DeviceEvent host_record_event(Device *dev);
void host_wait_event(Device *dev, DeviceEvent event);
size_t host_memory_available(Device *dev);
void host_group(Device *dev, bool open); /* of devices to which a group is no faster: see device_groups */
void host_follow(Device *dev, DeviceQueue queue, DeviceQueue earlier);

/* A new device of `ops`, every entry of which must be filled. Its tensors have the dtypes of `precision`, statistics
 * that of the master weights, indices i32, totals f64. */
Device *device_new(const char *name, const OpTable *ops, Precision precision, bool computes, int threads,
                   const char *isa, void *impl);
