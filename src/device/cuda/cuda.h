/* cuda.h: NVIDIA GPUs, by way of loam-cuda.so, which is opened when a GPU is asked for: the program runs without it. */
#pragma once

#include "device/device.h"

enum { CUDA_WHY = 400 };   /* bytes of a reason, one line */
enum { CUDA_ALIGN = 256 }; /* bytes: the size of a block of a GPU's memory is rounded up to a multiple of it */

typedef struct CudaGpu {
    char name[256];
    size_t memory; /* bytes */
    int compute;   /* compute capability: 90 for 9.0 */
} CudaGpu;

/* Whether the machine has an NVIDIA driver, libcuda.so.1. */
bool cuda_has_driver(void);
/* Opens loam-cuda.so once, and counts the GPUs. False where none can be used, with the reason: no such file, one of
 * another build, a library that it needs, no driver, a driver that is too old, no GPU. LOAM_CUDA_BACKEND names another
 * file. */
bool cuda_gpus(int *n, char *why);
bool cuda_describe(int index, CudaGpu *gpu, char *why);
/* A GPU by its number. Dtypes are those of device_open_cpu. NULL with the reason in `why` (CUDA_WHY bytes). */
Device *device_open_cuda(int index, Precision precision, char *why);
/* Takes `bytes` of a GPU's memory by one allocation, of which device_alloc cuts its blocks while there is room. To be
 * called before the first of them. False means that the GPU has not so much. Does nothing on a device that is no GPU.
 */
bool cuda_reserve(Device *dev, size_t bytes);
