/* device.h: a device is a table of operations and memory. Backends: cpu, null (computes nothing, checks and counts
 * everything) and, in the tests, reference (double-precision loops). No GLib here. */
#pragma once

#include "device/ops.h"

typedef struct OpTable OpTable; /* op_table.h, for backends */

typedef struct Profile Profile; /* profile.h */

typedef struct DeviceCounts {
    double flops; /* of matrix products and attention: 2 per multiply-add */
    double bytes; /* read and written by every operation, each operand once */
    int64_t calls;
} DeviceCounts;

struct Device {
    const char *name;
    const OpTable *ops;
    DType real;          /* the dtype of its floating tensors: f32 on the cpu, f64 on the reference backend */
    bool computes;       /* false: null; its memory is never touched */
    DeviceCounts counts; /* kept by the null device */
    int threads;
    const char *isa;  /* "avx2", "avx512"; "none" where nothing is compiled for one */
    Profile *profile; /* NULL: operations are not timed; the caller's memory */
    void *impl;
};

Device *device_open_cpu(int threads); /* 0: OMP_NUM_THREADS or every core; never fails */
Device *device_open_null(void);       /* of f32, as the cpu */
Device *device_open_null_of(DType real);
Device *device_open_reference(void); /* tests only: tests/reference/reference.c */
void device_close(Device *dev);
int device_threads(const Device *dev);
const char *device_isa(const Device *dev);
/* Zeroed memory aligned to 64, or NULL; on null an address that must not be touched. */
void *device_alloc(Device *dev, size_t bytes);
void device_free(Device *dev, void *p);
