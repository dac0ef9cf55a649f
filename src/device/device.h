/* device.h: a device: memory, transfers to and from it, and operations on it (ops.h). Backends: cpu; cuda (GPUs; a
 * shared library, see device/cuda/cuda.h); null (computes nothing, but checks every call and counts FLOPs and bytes:
 * for dry runs). The tests have three more: reference (double-precision loops), guarded (the cpu with protected memory
 * and delayed work) and a simulated GPU that runs the cuda kernels on the host. No GLib here. */
#pragma once

#include "device/ops.h"

typedef struct OpTable OpTable; /* op_table.h, for backends */

typedef struct Profile Profile; /* profile.h */

/* Work that a null device has counted. */
typedef struct DeviceCounts {
    double flops;     /* FLOPs of matrix products and attention: 2 per multiply-add */
    double fp8_flops; /* those of FP8 products, which are also in `flops` */
    double bytes;     /* bytes that operations read and write: each operand once, an operand that is updated twice */
    int64_t calls, uploads, downloads; /* number of operations, of transfers to the device, of transfers from it */
    int64_t launches; /* operations, those of one kind in a group counted as the fewest launches that execute them */
} DeviceCounts;

/* A point in the queue of a device that the host can wait for: see device_record_event. */
typedef uint64_t DeviceEvent;

/* The role of a tensor in an operation. A device allows a set of dtypes for each role. */
typedef enum Role {
    ROLE_COMPUTE,    /* operands of matrix products: weights, activations */
    ROLE_ACCUMULATE, /* tensors that are added to: the residual stream, parameter gradients */
    ROLE_STATISTIC,  /* one number per row: mean, 1 / standard deviation, log-sum-exp, loss */
    ROLE_MASTER,     /* the copy of weights that the optimizer updates */
    ROLE_STATE,      /* moments of an optimizer */
    ROLE_INDEX,      /* token ids, position ids, indices of rows */
    ROLE_TOTAL,      /* sums over a whole batch or a whole model */
    ROLE_E4M3,       /* operands of FP8 products: weights and activations */
    ROLE_E5M2,       /* operands of FP8 products: gradients of outputs */
    ROLE_COUNT
} Role;

/* How the scale of an operand of an FP8 product is computed from a largest absolute value (amax): the amax of this
 * operand in earlier microbatches (delayed), or the amax of the operand itself (current). */
typedef enum Fp8Scaling { FP8_OFF, FP8_DELAYED, FP8_CURRENT } Fp8Scaling;

/* How linear layers of transformer blocks are trained in FP8, as by Transformer Engine: scale = largest number of the
 * format / amax / 2^margin. With delayed scaling, amax is the largest amax of the last `history` microbatches. */
typedef struct Fp8Recipe {
    Fp8Scaling scaling; /* FP8_OFF means no FP8 */
    int32_t margin, history;
} Fp8Recipe;

/* The dtypes of a model: of weight matrices and activations (compute), of the residual stream, parameter gradients,
 * master weights and optimizer states. */
typedef struct Precision {
    DType compute, residual, grad, master, state;
    Fp8Recipe fp8;
    bool fp8_bytes;    /* true: FP8 tensors are stored as bytes, as on GPUs; false: FP8 is emulated, and its numbers are
                          stored in the dtype `compute` */
    bool large_chunks; /* GPUs only: output heads compute the logits of up to 1 GiB at once, instead of 128 MiB */
    bool tf32;         /* GPUs only: matrix products of f32 round their operands to TF32 (10 bits of mantissa) */
    bool offload;      /* GPUs only: optimizer states, and master weights if they have a dtype of their own, are kept in
                          memory of the host; they are copied to the GPU for each update */
} Precision;

/* A Precision with one dtype for everything. */
Precision precision_uniform(DType dtype);
/* The dtype of ROLE_E4M3 or ROLE_E5M2. */
DType precision_fp8(Precision precision, bool e5m2);
/* The dtype of ROLE_STATISTIC, which is precision.master. */
DType precision_statistic(Precision precision);

/* An open GPU: its name, and the limits of its kernels. */
typedef struct DeviceGpu {
    char name[64];    /* name of the GPU, "NVIDIA H200"; "" means that the device is not a GPU */
    int32_t index;    /* index of the GPU: 0 for cuda:0 */
    int32_t head_dim; /* largest number of channels of an attention head; 0 means no limit */
    size_t scratch; /* bytes of scratch memory that cuda_reserve sets apart (cuda.h); of the null device, the most that
                       an operation or a group so far would need on a GPU */
} DeviceGpu;

struct Device {
    const char *name;
    const OpTable *ops;
    Precision precision;         /* the dtypes of models on this device */
    unsigned dtypes[ROLE_COUNT]; /* bit d is set if a tensor of the role may have DType d */
    bool computes;               /* false for the null device, whose memory must never be read or written */
    DeviceCounts counts;         /* counted by the null device only */
    int threads;     /* number of threads of the host: on the cpu they compute; with a GPU they only make random initial
                        weights */
    const char *isa; /* instruction set: "avx2", "avx512", "avx512_bf16", "amx", "neon" (aarch64); "f64" for reference,
                        "none" for null; for a GPU, its name */
    DeviceGpu gpu;
    Profile
        *profile; /* times of operations (profile.h), in the caller's memory; NULL means that they are not measured */
    void *impl;   /* private data of the backend */
};

/* Opens the cpu. threads: number of threads, at most OMP_THREAD_LIMIT; 0 means OMP_NUM_THREADS if it is set, otherwise
 * one per core. precision: master and state must be f32; compute f32, bf16 or f16; residual and grad f32 or the dtype
 * of compute. Never fails. */
Device *device_open_cpu(int threads, Precision precision);
Device *device_open_null(void);                   /* a null device with the dtypes of precision_uniform(DT_F32) */
Device *device_open_null_of(Precision precision); /* a null device with the dtypes of this precision */
/* Bytes of all allocations of a null device so far, each rounded up as on GPUs (CUDA_ALIGN); freed ones count. */
size_t null_memory(const Device *null);
Device *device_open_reference(void); /* for tests only: tests/reference/reference.c */
void device_close(Device *dev);

/* Whether bf16 products are faster than f32 on this processor: it has AMX, or AVX-512-BF16 and is not from Intel. */
bool device_cpu_bf16(void);

/* The reason why the cpu cannot be used, one line, valid until the next call: loam has no kernels for this processor,
 * or LOAM_CPU_ISA names an instruction set that the processor does not have. NULL means that the cpu can be used. */
const char *device_cpu_problem(void);

/* Allocates memory of the device, aligned to 64 bytes, of unknown content; NULL if there is not enough memory. The
 * caller may add offsets to the address, but only operations and transfers may read or write the memory. */
void *device_alloc(Device *dev, size_t bytes);
void device_free(Device *dev, void *p); /* frees the memory when all work queued so far is done */
/* Free bytes of a GPU's memory; SIZE_MAX for a device that computes in memory of the host, or computes nothing. */
size_t device_memory_available(Device *dev);

/* Operations and transfers are asynchronous, in the order of the calls. device_upload copies from the host to the
 * device; the caller may change `from` as soon as device_upload returns. device_download copies from the device to the
 * host; `to` is valid after device_wait_event for an event that was recorded after the download. */
void device_upload(Device *dev, void *to, const void *from, size_t bytes);
void device_download(Device *dev, void *to, const void *from, size_t bytes);
DeviceEvent device_record_event(Device *dev);           /* records an event after all work queued so far */
void device_wait_event(Device *dev, DeviceEvent event); /* waits until all work before the event is done */
void device_synchronise(Device *dev);                   /* waits until all work queued so far is done */

/* Operations between device_group_begin and device_group_end form a group: they may run in any order, and operations of
 * one kind may be fused into one kernel launch. So no operation of a group may read or write memory that another
 * operation of the group writes. Groups do not nest and contain no transfers. */
void device_group_begin(Device *dev);
void device_group_end(Device *dev);
/* Whether grouping makes operations faster, as on a GPU. */
bool device_groups(const Device *dev);

/* Queues a part of the work by queue(data). A GPU notes what some calls with the same owner and number have queued (as
 * a CUDA graph), and at later calls queues it again at once, without queue(data). So for one owner and number, queue
 * must call the same operations with the same arguments, at the same addresses, and do nothing else; only the numbers
 * in memory may differ. It contains no transfers, events, allocations or groups. Parts do not nest. */
void device_repeat(Device *dev, const void *owner, int64_t number, void (*queue)(void *data), void *data);
/* Forgets the parts of an owner. To be called before the memory of their operations is used otherwise. */
void device_forget(Device *dev, const void *owner);

/* The queues of a device. A GPU can copy in both directions while it computes; it has two more queues for this.
 * device_follow orders work of one queue after work of another. The copy queues copy only to and from memory of
 * device_host_alloc, which must not be used otherwise until the copy is done. */
typedef enum DeviceQueue {
    QUEUE_WORK,      /* operations, uploads and downloads */
    QUEUE_COPY_TO,   /* device_copy_to */
    QUEUE_COPY_FROM, /* device_copy_from */
    QUEUES
} DeviceQueue;
/* Allocates page-locked (pinned) memory of the host, of unknown content; NULL if there is not enough. */
void *device_host_alloc(Device *dev, size_t bytes);
void device_host_free(Device *dev, void *p); /* all queues must be empty: call device_settle before */
/* Asynchronous copy from page-locked memory `from` to memory `to` of the device. */
void device_copy_to(Device *dev, void *to, const void *from, size_t bytes);
/* Asynchronous copy from memory `from` of the device to page-locked memory `to`. */
void device_copy_from(Device *dev, void *to, const void *from, size_t bytes);
/* Work queued in `queue` after this call starts when all work queued in `earlier` before this call is done. */
void device_follow(Device *dev, DeviceQueue queue, DeviceQueue earlier);
void device_settle(Device *dev); /* waits until the work of all queues is done */

/* device_upload and device_download for a whole tensor; its copy on the host is contiguous and has the same dtype. */
void tensor_upload(Device *dev, Tensor to, const void *from);
void tensor_download(Device *dev, void *to, Tensor from);
/* Transfer a whole tensor from (tensor_write) and to (tensor_read) contiguous numbers of `dtype` on the host, converted
 * if the tensor has another dtype. tensor_read waits for the result; on the null device it does not change `to`. */
void tensor_write(Device *dev, Tensor to, const void *from, DType dtype);
void tensor_read(Device *dev, void *to, DType dtype, Tensor from);
/* As tensor_write and tensor_read, for a tensor in memory of the host. */
void tensor_write_host(Tensor to, const void *from, DType dtype);
void tensor_read_host(void *to, DType dtype, Tensor from);
