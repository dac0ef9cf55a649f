/* null.c: a device that computes nothing and touches no tensor. It counts the floating-point operations of matrix
 * products and attention, the bytes that every operation moves, and the scratch memory that it would need on a GPU. */
#include "base/fatal.h"
#include "device/cuda/cuda.h"
#include "device/op_table.h"
#include "device/operand.h"

#include <stdlib.h>
#include <string.h>

typedef struct Null {
    size_t memory;
    bool grouped; /* a group is open */
    struct {
        int calls;
        size_t scratch;
    } waiting[OP_COUNT]; /* per operation: the calls of the group that one launch would execute, and what they need in
                            all */
} Null;

static void null_close(Device *dev)
{
    free(dev->impl);
}

size_t null_memory(const Device *null)
{
    return ((const Null *)null->impl)->memory;
}

/* Counts a launch, unless the operation joins an earlier one of its group, and the scratch memory that it needs. */
static void add_launch(Device *dev, int op, size_t bytes)
{
    Null *null = dev->impl;
    const bool joins = null->grouped && null->waiting[op].calls > 0 && null->waiting[op].calls < GROUP_CALLS;
    null->waiting[op].calls = joins ? null->waiting[op].calls + 1 : 1;
    null->waiting[op].scratch = joins ? null->waiting[op].scratch + bytes : bytes;
    dev->counts.launches += !joins;
    if (null->waiting[op].scratch > dev->gpu.scratch)
        dev->gpu.scratch = null->waiting[op].scratch;
}

static void null_group(Device *dev, bool open)
{
    Null *null = dev->impl;
    null->grouped = open;
    memset(null->waiting, 0, sizeof null->waiting);
}

static void count_op(Device *dev, int op, double flops, double bytes, size_t scratch)
{
    add_launch(dev, op, scratch);
    dev->counts.flops += flops;
    dev->counts.fp8_flops += op == OP_fp8_linear ? flops : 0;
    dev->counts.bytes += bytes;
    dev->counts.calls++;
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define OP(name, parameters, arguments, operands, rules, flops)                                                        \
    static void null_##name parameters                                                                                 \
    {                                                                                                                  \
        count_op(dev, OP_##name, flops, operands_bytes(OPERANDS operands, N_OPERANDS operands), SCRATCH_OF(name));     \
    }
#include "device/op_list.inc"
#undef OP

static void *null_alloc(Device *dev, size_t bytes)
{
    ((Null *)dev->impl)->memory += ((bytes ? bytes : 1) + CUDA_ALIGN - 1) / CUDA_ALIGN * CUDA_ALIGN;
    return (void *)64; /* in page 0: any use of it traps */
}

static void *null_host_alloc(Device *dev, size_t bytes)
{
    return (void *)64;
}

static void null_free(Device *dev, void *p)
{
}

static void null_upload(Device *dev, void *to, const void *from, size_t bytes)
{
    dev->counts.uploads++;
}

static void null_download(Device *dev, void *to, const void *from, size_t bytes)
{
    dev->counts.downloads++;
}

static const OpTable null_ops = {
    .alloc = null_alloc,
    .free = null_free,
    .upload = null_upload,
    .download = null_download,
    .record_event = host_record_event,
    .wait_event = host_wait_event,
    .memory_available = host_memory_available,
    .group = null_group,
    .host_alloc = null_host_alloc,
    .host_free = null_free,
    .copy_to = null_upload,
    .copy_from = null_download,
    .repeat = host_repeat,
    .forget = host_forget,
    .follow = host_follow,
#define KERNEL(name) .name = null_##name,
    OPERATIONS(KERNEL)
#undef KERNEL
        .close = null_close,
};

Device *device_open_null(void)
{
    return device_open_null_of(precision_uniform(DT_F32));
}

Device *device_open_null_of(Precision precision)
{
    Null *null = calloc(1, sizeof *null);
    if (null == NULL)
        fatal_memory("a device");
    return device_new("null", &null_ops, precision, false, 1, "none", null);
}
