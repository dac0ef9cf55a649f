/* kernels.h: the header of device/cuda/kernels for files outside it: declares, for each operation NAME,
 * the function gpu_NAME, which launches its kernel. */
#pragma once

#include "device/cuda/kernels/group.h"

/* Most channels of an attention head (MOST_CHANNELS in attention.h); a model with larger heads cannot be opened. */
enum { GPU_HEAD_DIM = 256 };

extern "C" {
#define DECLARE_KERNEL(name) Op_##name gpu_##name;
OPERATIONS(DECLARE_KERNEL)
}

/* What is compared of two results: a sum over all numbers, each mixed with its place, and how many are neither 0 nor
 * infinite nor NaN. */
struct Checksum {
    unsigned long long sum, filled;
};
enum { CHECKSUM_BLOCKS = 512 };
/* Queues the checksums of parts of y, at most CHECKSUM_BLOCKS of them, which go to memory of the device; that of y is
 * their sum. Returns their number. */
int gpu_checksum(Gpu *gpu, Checksum *partial, Tensor y);
