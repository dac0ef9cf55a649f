/* null.h: counts of the null device that are not in DeviceCounts. */
#pragma once

#include "device/device.h"

/* Bytes of all allocations so far, each rounded up as on GPUs; freed memory is still counted. */
size_t null_memory(const Device *null);
