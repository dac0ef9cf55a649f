/* null.h: memory that the null device has counted. */
#pragma once

#include "device/device.h"

/* Bytes of all allocations of a null device so far, each rounded up as on GPUs (CUDA_ALIGN); memory that was freed is
 * still counted. */
size_t null_memory(const Device *null);
