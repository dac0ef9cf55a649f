#include "device/far.h"

#include "arguments.h"
#include "base/check.h"
#include "device/cuda/cuda.h"
#include "device/op_table.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 256 };

typedef struct Block {
    char *host, *device;
    size_t bytes;
} Block;

typedef struct Far {
    Device *gpu;
    Block blocks[MOST_BLOCKS];
    int n_blocks;
    StepScalars *scalars; /* on the GPU: those of a case lie on its stack */
    bool grouped;         /* a group is open: memory is uploaded before it and downloaded after it */
} Far;

/* Descriptions of one call, with addresses of the GPU. */
typedef struct Call {
    Dropout dropout;
    AttnSpec attn;
    BlockLayout layout;
    AttnDistance distance;
} Call;

void *far_alloc(Device *dev, size_t bytes)
{
    Far *far = dev->impl;
    CHECK(far->n_blocks < MOST_BLOCKS, "more than %d blocks", MOST_BLOCKS);
    size_t taken = bytes ? bytes : 1;
    Block block = { calloc(1, taken), device_alloc(far->gpu, taken), bytes };
    CHECK(block.host && block.device, "no memory for %zu bytes", bytes);
    far->blocks[far->n_blocks++] = block;
    return block.host;
}

void far_free_all(Device *dev)
{
    Far *far = dev->impl;
    for (int i = 0; i < far->n_blocks; i++) {
        free(far->blocks[i].host);
        device_free(far->gpu, far->blocks[i].device);
    }
    far->n_blocks = 0;
}

/* An address of the host as one of the GPU. */
static void *there(const Far *far, const void *p)
{
    for (int i = 0; p && i < far->n_blocks; i++) {
        const Block *block = &far->blocks[i];
        if ((const char *)p >= block->host && (const char *)p <= block->host + block->bytes)
            return block->device + ((const char *)p - block->host);
    }
    CHECK(p == NULL, "%p was not allocated by the case", p);
    return NULL;
}

static BothSides sides(const Far *far, BothSides side)
{
    return (BothSides){ side.host, there(far, side.device) };
}

static void send_tensor(Far *far, Call *call, void *argument)
{
    Tensor *t = argument;
    (void)call;
    t->p = there(far, t->p);
}

static void send_dropout(Far *far, Call *call, void *argument)
{
    const Dropout **drop = argument;
    if (*drop == NULL) /* a norm's backward without a sublayer's dropout */
        return;
    call->dropout = **drop;
    call->dropout.sample = call->dropout.rate > 0 ? there(far, call->dropout.sample) : NULL;
    call->dropout.position = call->dropout.rate > 0 ? there(far, call->dropout.position) : NULL;
    *drop = &call->dropout;
}

static void send_attn(Far *far, Call *call, void *argument)
{
    const AttnSpec **spec = argument;
    AttnSpec *attn = &call->attn;
    *attn = **spec;
    attn->cu_q = sides(far, attn->cu_q);
    attn->cu_k = sides(far, attn->cu_k);
    attn->prefix = sides(far, attn->prefix);
    attn->k_first = sides(far, attn->k_first);
    if (attn->layout) {
        call->layout = *attn->layout;
        call->layout.first = sides(far, call->layout.first);
        call->layout.keys = sides(far, call->layout.keys);
        attn->layout = &call->layout;
    }
    if (attn->distance) {
        call->distance = *attn->distance;
        send_tensor(far, call, &call->distance.table);
        send_tensor(far, call, &call->distance.dtable);
        attn->distance = &call->distance;
    }
    *spec = attn;
}

static void send_scalars(Far *far, Call *call, void *argument)
{
    const StepScalars **scalars = argument;
    (void)call;
    device_upload(far->gpu, far->scalars, *scalars, sizeof **scalars);
    *scalars = far->scalars;
}

static void keep(Far *far, Call *call, void *argument)
{
    (void)far;
    (void)call;
    (void)argument;
}

static void upload_all(Far *far)
{
    for (int i = 0; i < far->n_blocks; i++)
        device_upload(far->gpu, far->blocks[i].device, far->blocks[i].host, far->blocks[i].bytes);
}

static void download_all(Far *far)
{
    for (int i = 0; i < far->n_blocks; i++)
        device_download(far->gpu, far->blocks[i].host, far->blocks[i].device, far->blocks[i].bytes);
    device_synchronise(far->gpu);
}

#define SEND(x)                                                                                                        \
    _Generic((x),                                                                                                      \
        Tensor: send_tensor,                                                                                           \
        const Dropout *: send_dropout,                                                                                 \
        const AttnSpec *: send_attn,                                                                                   \
        const StepScalars *: send_scalars,                                                                             \
        default: keep)(far, &call, (void *)&(x));
#define PASS(x) , x
#define OP(name, parameters, arguments, operands, rules, flops)                                                        \
    static void far_##name parameters                                                                                  \
    {                                                                                                                  \
        Far *far = dev->impl;                                                                                          \
        Call call = { 0 };                                                                                             \
        if (!far->grouped)                                                                                             \
            upload_all(far);                                                                                           \
        EACH_OF(SEND, AFTER_DEVICE arguments)                                                                          \
        far->gpu->ops->name(far->gpu EACH_OF(PASS, AFTER_DEVICE arguments));                                           \
        if (!far->grouped)                                                                                             \
            download_all(far);                                                                                         \
    }
#include "device/op_list.inc"
#undef OP

static void far_group(Device *dev, bool open)
{
    Far *far = dev->impl;
    if (open)
        upload_all(far);
    far->gpu->ops->group(far->gpu, open);
    if (!open)
        download_all(far);
    far->grouped = open;
}

static void far_close(Device *dev)
{
    Far *far = dev->impl;
    far_free_all(dev);
    device_free(far->gpu, far->scalars);
    device_close(far->gpu);
    free(far);
}

static const OpTable far_ops = {
    MEMORY_OF_HOST,
    .group = far_group,
#define KERNEL(name) .name = far_##name,
    OPERATIONS(KERNEL)
#undef KERNEL
        .close = far_close,
};

Device *far_open(Precision precision, char *why)
{
    precision.fp8_bytes = true; /* as device_open_cuda says of the GPU itself */
    Device *gpu = device_open_cuda(0, precision, why);
    if (gpu == NULL)
        return NULL;
    Far *far = calloc(1, sizeof *far);
    CHECK(far != NULL, "no memory");
    far->gpu = gpu;
    far->scalars = device_alloc(gpu, sizeof *far->scalars);
    CHECK(far->scalars != NULL, "no memory on the GPU");
    return device_new("cuda", &far_ops, precision, true, 1, gpu->isa, far);
}
