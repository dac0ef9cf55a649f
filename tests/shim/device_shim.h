/* device_shim.h: the kernels of the cuda backend on the host. */
#pragma once

#include "device/device.h"

/* A device whose operations are those of the cuda backend, run by shim.h in memory of the host. Products, which
 * cuBLASLt computes on GPUs, are plain loops. The dtypes are those of device_open_cpu. */
Device *device_open_shim(Precision precision);
/* The order of blocks and threads from here on: 0 forward, 1 backward, 2 shuffled. */
void device_shim_order(int order);
enum { DEVICE_SHIM_ORDERS = 3 };
int64_t device_shim_launches(void); /* kernels launched so far */
