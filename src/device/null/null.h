/* null.h: what the null device counts beside DeviceCounts. */
#pragma once

#include "device/device.h"

/* Bytes of all blocks that were allocated, each rounded up as on GPUs; freed ones count too. */
size_t null_memory(const Device *null);
