/* op_table.h: the table of functions that a backend has: for memory, for transfers, and one kernel per operation of
 * ops.h. ops.c has already checked the arguments of a kernel. device_new aborts (CHECK) if an entry is missing. */
#pragma once

#include "device/device.h"

struct OpTable {
    void (*close)(Device *dev); /* frees dev->impl; device_close frees dev itself */

    /* Each of the following entries NAME is the backend's implementation of device_NAME (device.h). */
    void *(*alloc)(Device *dev, size_t bytes);
    void (*free)(Device *dev, void *p);
    void (*upload)(Device *dev, void *to, const void *from, size_t bytes);
    void (*download)(Device *dev, void *to, const void *from, size_t bytes);
    DeviceEvent (*record_event)(Device *dev);
    void (*wait_event)(Device *dev, DeviceEvent event);
    size_t (*memory_available)(Device *dev);
    void (*group)(Device *dev, bool open); /* device_group_begin (open true) and device_group_end (open false) */
    void (*repeat)(Device *dev, const void *owner, int64_t number, void (*queue)(void *data), void *data);
    void (*forget)(Device *dev, const void *owner);
    void *(*host_alloc)(Device *dev, size_t bytes);
    void (*host_free)(Device *dev, void *p);
    void (*copy_to)(Device *dev, void *to, const void *from, size_t bytes);
    void (*copy_from)(Device *dev, void *to, const void *from, size_t bytes);
    void (*follow)(Device *dev, DeviceQueue queue, DeviceQueue earlier);

#define OP_KERNEL(name) Op_##name *name;
    OPERATIONS(OP_KERNEL)
};

/* OP_name: the index of an operation in OPERATIONS. */
#define OP_INDEX(name) OP_##name,
enum { OPERATIONS(OP_INDEX) OP_COUNT };

/* The entries for memory, transfers and queues, for a device that computes in memory of the host and has no queue: all
 * entries except `close`, `group` and the operations. */
#define MEMORY_OF_HOST                                                                                                 \
    .alloc = host_alloc, .free = host_free, .upload = host_copy, .download = host_copy,                                \
    .record_event = host_record_event, .wait_event = host_wait_event, .memory_available = host_memory_available,       \
    .repeat = host_repeat, .forget = host_forget, QUEUE_OF_HOST
/* The entries for page-locked memory and copy queues, for a device that has no copy queues. */
#define QUEUE_OF_HOST                                                                                                  \
    .host_alloc = host_alloc, .host_free = host_free, .copy_to = host_copy, .copy_from = host_copy,                    \
    .follow = host_follow
/* The functions of these entries. */
void *host_alloc(Device *dev, size_t bytes);
void host_free(Device *dev, void *p);
void host_copy(Device *dev, void *to, const void *from, size_t bytes);
DeviceEvent host_record_event(Device *dev);
void host_wait_event(Device *dev, DeviceEvent event);
size_t host_memory_available(Device *dev);
void host_group(Device *dev, bool open); /* for a device that executes the operations of a group one by one */
void host_repeat(Device *dev, const void *owner, int64_t number, void (*queue)(void *data), void *data);
void host_forget(Device *dev, const void *owner);
void host_follow(Device *dev, DeviceQueue queue, DeviceQueue earlier);

/* A new device with the functions `ops`, every entry of which must be filled. The other arguments become the fields of
 * Device with these names. `precision` determines the dtypes allowed for each Role: statistics have the dtype of master
 * weights, indices i32, totals f64. */
Device *device_new(const char *name, const OpTable *ops, Precision precision, bool computes, int threads,
                   const char *isa, void *impl);
