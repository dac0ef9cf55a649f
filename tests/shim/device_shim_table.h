/* device_shim_table.h: the operations of the cuda backend on the host, and a GPU for them. */
#pragma once

#include "device/cuda/kernels/kernels.h"

const OpTable *shim_table(void);
Gpu *shim_gpu_new(void);
size_t shim_memory(void); /* bytes of the GPU */
