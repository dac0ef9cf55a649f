/* device.h: a device is a table of operations and memory. Backends: cpu, null (computes nothing, checks and counts
 * everything) and, in the tests, reference (double-precision loops). No GLib here. */
#pragma once

#include "device/ops.h"

typedef struct OpTable OpTable; /* op_table.h, for backends */

typedef struct Profile Profile; /* profile.h */

typedef struct DeviceCounts {
    double flops; /* of matrix products and attention: 2 per multiply-add */
    double bytes; /* read and written by every operation, each operand once */
    int64_t calls, uploads, downloads;
} DeviceCounts;

/* A moment in a device's work: see device_record. */
typedef uint64_t DeviceMark;

/* What a tensor of an operation is for. A device says which dtypes each role may have. */
typedef enum Role {
    ROLE_COMPUTE,    /* multiplied: work weights, activations */
    ROLE_ACCUMULATE, /* summed up: the residual stream, parameter gradients */
    ROLE_STATISTIC,  /* means, deviations, log-sum-exps, losses of tokens */
    ROLE_MASTER,     /* weights as the optimizer updates them */
    ROLE_STATE,      /* moments of an optimizer */
    ROLE_INDEX,      /* ids, positions */
    ROLE_TOTAL,      /* sums over a whole batch or model */
    ROLE_COUNT
} Role;

/* The dtypes that a model computes and is stored in. */
typedef struct Precision {
    DType compute, residual, grad, master, state;
} Precision;

/* Everything in one dtype. */
Precision precision_uniform(DType dtype);
/* The dtype of ROLE_STATISTIC: that of the masters. */
DType precision_statistic(Precision precision);

struct Device {
    const char *name;
    const OpTable *ops;
    Precision precision;         /* of its models, unless something else is asked for */
    unsigned dtypes[ROLE_COUNT]; /* bit d is set where a tensor of the role may have DType d */
    bool computes;               /* false: null; its memory is never touched */
    DeviceCounts counts;         /* kept by the null device */
    int threads;
    const char *isa;  /* "avx2", "avx512"; "none" where nothing is compiled for one */
    Profile *profile; /* NULL: operations are not timed; the caller's memory */
    void *impl;
};

Device *device_open_cpu(int threads); /* 0: OMP_NUM_THREADS or every core; never fails */
Device *device_open_null(void);       /* of f32, as the cpu */
Device *device_open_null_of(Precision precision);
Device *device_open_reference(void); /* tests only: tests/reference/reference.c */
void device_close(Device *dev);
int device_threads(const Device *dev);
const char *device_isa(const Device *dev);

/* Memory of the device, aligned to 64, or NULL where there is not enough. Its addresses may be counted with, but only
 * operations and transfers read or write what lies there; what that is at first is not known. */
void *device_alloc(Device *dev, size_t bytes);
void device_free(Device *dev, void *p); /* after the work that was asked for before */

/* A device does what it is asked for, operations and transfers, in that order, but later. Host memory that is uploaded
 * may be changed as soon as the call returns; host memory that is downloaded into holds the numbers once a mark that
 * was recorded after it has been waited for. */
void device_upload(Device *dev, void *to, const void *from, size_t bytes);
void device_download(Device *dev, void *to, const void *from, size_t bytes);
DeviceMark device_record(Device *dev);          /* stands behind all that was asked for so far */
void device_wait(Device *dev, DeviceMark mark); /* returns when what stands before the mark is done */
void device_synchronise(Device *dev);           /* when everything is done */

/* The same of a whole tensor; on the host its rows lie side by side, in its dtype. */
void tensor_upload(Device *dev, Tensor to, const void *from);
void tensor_download(Device *dev, void *to, Tensor from);
/* The same from and to host memory of `dtype`, with a cast where the tensor has another. Reading waits; on a device
 * that computes nothing it leaves `to` alone. */
void tensor_write(Device *dev, Tensor to, const void *from, DType dtype);
void tensor_read(Device *dev, void *to, DType dtype, Tensor from);
