/* device.h: a device has memory, transfers to and from it, and operations on it (ops.h). Backends: cpu, null (computes
 * nothing, checks and counts everything) and, in the tests, reference (double-precision loops). No GLib here. */
#pragma once

#include "device/ops.h"

typedef struct OpTable OpTable; /* op_table.h, for backends */

typedef struct Profile Profile; /* profile.h */

/* Work that the null device was asked for. */
typedef struct DeviceCounts {
    double flops;                      /* of matrix products and attention: 2 per multiply-add */
    double bytes;                      /* read and written by operations: each operand once, updated ones twice */
    int64_t calls, uploads, downloads; /* operations, transfers to the device, transfers from it */
} DeviceCounts;

/* A point in the queue of a device, which can be waited for: see device_record_event. */
typedef uint64_t DeviceEvent;

/* What a tensor is for in an operation. A device has a set of dtypes for each role. */
typedef enum Role {
    ROLE_COMPUTE,    /* operands of matrix products: weights, activations */
    ROLE_ACCUMULATE, /* tensors that are added to: the residual stream, parameter gradients */
    ROLE_STATISTIC,  /* one number a row: means, 1/deviations, log-sum-exps, losses */
    ROLE_MASTER,     /* weights as the optimizer updates them */
    ROLE_STATE,      /* moments of an optimizer */
    ROLE_INDEX,      /* token ids, position ids, indices of rows */
    ROLE_TOTAL,      /* sums over a whole batch or model */
    ROLE_E4M3,       /* factors of FP8 products: weights and activations, */
    ROLE_E5M2,       /* and gradients of outputs */
    ROLE_COUNT
} Role;

/* Where the scale of a factor of an FP8 product comes from: delayed, the largest absolute value (amax) of earlier
 * microbatches; current, that of the factor itself. */
typedef enum Fp8Scaling { FP8_OFF, FP8_DELAYED, FP8_CURRENT } Fp8Scaling;

/* How the linear layers of blocks are trained in FP8, as Transformer Engine's recipes say: scale = largest number of
 * the format / amax / 2^margin. Delayed: amax is the largest of the last `history` microbatches. */
typedef struct Fp8Recipe {
    Fp8Scaling scaling; /* FP8_OFF means no FP8 */
    int32_t margin, history;
} Fp8Recipe;

/* The dtypes of weight matrices and activations (compute), residual stream, gradients, master weights and optimizer
 * state. */
typedef struct Precision {
    DType compute, residual, grad, master, state;
    Fp8Recipe fp8;
    bool fp8_bytes; /* numbers of FP8 take a byte each, as on GPUs; else they are numbers of `compute` */
    bool tf32;      /* products of f32 round their factors to TF32 (10 bits of mantissa), on GPUs alone */
    bool offload;   /* master weights, where they have a dtype of their own, and optimizer states lie in memory of the
                       host, and are on the device for their update alone; on GPUs alone */
} Precision;

/* Everything in one dtype. */
Precision precision_uniform(DType dtype);
/* The dtype of ROLE_E4M3 or ROLE_E5M2. */
DType precision_fp8(Precision precision, bool e5m2);
/* The dtype of ROLE_STATISTIC, which is precision.master. */
DType precision_statistic(Precision precision);

/* A GPU that is open: how it is named, and the limits of its kernels. */
typedef struct DeviceGpu {
    char name[64];    /* "NVIDIA H200"; "" means that the device is no GPU */
    int32_t index;    /* number of the GPU, as in cuda:0 */
    int32_t head_dim; /* most channels of a head of attention; 0 means any */
} DeviceGpu;

struct Device {
    const char *name;
    const OpTable *ops;
    Precision precision;         /* dtypes of the models on this device */
    unsigned dtypes[ROLE_COUNT]; /* bit d is set where a tensor of the role may have DType d */
    bool computes;               /* false for null, whose addresses must never be followed */
    DeviceCounts counts;         /* kept by null alone */
    int threads; /* of the host: compute threads of the CPU; beside a GPU, threads that random weights are made by */
    const char *isa; /* "avx2", "avx512", "avx512_bf16", "amx"; "neon" (aarch64); "f64" (reference), "none" (null); the
                        name of a GPU */
    DeviceGpu gpu;
    Profile *profile; /* profile.h: times of operations, in the caller's memory; NULL means that none are taken */
    void *impl;       /* data of the backend's own */
};

/* The processor. threads 0 means OMP_NUM_THREADS, or every core; never more than OMP_THREAD_LIMIT. Master weights and
 * optimizer states are f32; compute is f32, bf16 or f16; residual and grad are f32 or the dtype of compute. Never
 * fails. */
Device *device_open_cpu(int threads, Precision precision);
Device *device_open_null(void);                   /* a null device with the dtypes of precision_uniform(DT_F32) */
Device *device_open_null_of(Precision precision); /* a null device with the dtypes of this precision */
Device *device_open_reference(void);              /* tests only: tests/reference/reference.c */
void device_close(Device *dev);

/* Whether this processor multiplies bf16 faster than f32: with AMX or, but for Intel's, with AVX-512-BF16. */
bool device_cpu_bf16(void);

/* Why nothing can be computed here: no kernels for this processor, or LOAM_CPU_ISA names an instruction set that it
 * does not have; NULL means that all is well. One line, valid until the next call. */
const char *device_cpu_problem(void);

/* Memory of the device, aligned to 64 bytes, of unknown content; NULL means that there is not enough. Offsets may be
 * added to its addresses, but only operations and transfers read or write there. */
void *device_alloc(Device *dev, size_t bytes);
void device_free(Device *dev, void *p); /* takes effect after all work queued before it */
/* Bytes that a GPU has free; SIZE_MAX where a device computes in memory of the host, or computes nothing. */
size_t device_memory_available(Device *dev);

/* Operations and transfers are queued, and done later in the order of the calls. Host memory that is uploaded may be
 * changed as soon as device_upload returns; host memory that is downloaded into holds the numbers once an event
 * recorded after device_download has been waited for. */
void device_upload(Device *dev, void *to, const void *from, size_t bytes);
void device_download(Device *dev, void *to, const void *from, size_t bytes);
DeviceEvent device_record_event(Device *dev);           /* an event after all work queued so far */
void device_wait_event(Device *dev, DeviceEvent event); /* returns when all work before the event is done */
void device_synchronise(Device *dev);                   /* returns when all work is done */

/* Operations between device_group_begin and device_group_end may be done in any order, or all of one kind by one
 * launch: none of them may read or write memory that another one writes. Groups do not nest, and hold no transfers. */
void device_group_begin(Device *dev);
void device_group_end(Device *dev);
/* Whether a group is faster than its operations one by one, as on a GPU. */
bool device_groups(const Device *dev);

/* A GPU copies both ways while it computes: by two more queues, whose order beside the work above device_follow makes.
 * Only memory of device_host_alloc goes by them, and only while nobody else touches it. */
typedef enum DeviceQueue {
    QUEUE_WORK,      /* operations, uploads and downloads */
    QUEUE_COPY_TO,   /* device_copy_to */
    QUEUE_COPY_FROM, /* device_copy_from */
    QUEUES
} DeviceQueue;
/* Memory of the host, of unknown content, which a GPU reads and writes by itself (page-locked); NULL means that there
 * is not enough. */
void *device_host_alloc(Device *dev, size_t bytes);
void device_host_free(Device *dev, void *p); /* the queues must be empty: device_settle */
void device_copy_to(Device *dev, void *to, const void *from, size_t bytes);
void device_copy_from(Device *dev, void *to, const void *from, size_t bytes);
/* What is queued in `queue` from here on begins when all that has been queued in `earlier` so far is done. */
void device_follow(Device *dev, DeviceQueue queue, DeviceQueue earlier);
void device_settle(Device *dev); /* returns when the work of all queues is done */

/* Transfers of a whole tensor; on the host its rows lie side by side, in its dtype. */
void tensor_upload(Device *dev, Tensor to, const void *from);
void tensor_download(Device *dev, void *to, Tensor from);
/* Transfers to and from host memory of `dtype`, with a cast where the tensor has another dtype. tensor_read waits for
 * the numbers; on a device that computes nothing it leaves `to` alone. */
void tensor_write(Device *dev, Tensor to, const void *from, DType dtype);
void tensor_read(Device *dev, void *to, DType dtype, Tensor from);
/* The same for a tensor that lies in memory of the host. */
void tensor_write_host(Tensor to, const void *from, DType dtype);
void tensor_read_host(void *to, DType dtype, Tensor from);
