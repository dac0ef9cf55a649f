/* cuda.h: the cuda backend: NVIDIA GPUs, through loam-cuda.so, which is opened only when a GPU is requested, so that
 * the program runs without it. */
#pragma once

#include "device/device.h"

enum { CUDA_WHY = 400 };   /* most bytes of a reason for a failure, one line */
enum { CUDA_ALIGN = 256 }; /* bytes: sizes of allocations in a GPU's memory are rounded up to a multiple of this */

typedef struct CudaGpu {
    char name[256];
    size_t memory; /* bytes */
    int compute;   /* compute capability: 90 for 9.0 */
} CudaGpu;

/* Whether the machine has an NVIDIA driver, libcuda.so.1. */
bool cuda_has_driver(void);
/* Opens loam-cuda.so once, and counts the GPUs. False with a reason if no GPU can be used: loam-cuda.so is missing, is
 * of another build or lacks a library; there is no driver, or it is too old; there is no GPU. The environment variable
 * LOAM_CUDA_BACKEND names another file instead of loam-cuda.so. */
bool cuda_gpus(int *n, char *why);
bool cuda_describe(int index, CudaGpu *gpu, char *why);
/* Opens the GPU cuda:`index`. Dtypes are those of device_open_cpu. NULL with the reason in `why` (CUDA_WHY bytes). */
Device *device_open_cuda(int index, Precision precision, char *why);
/* Reserves `bytes` of a GPU's memory by one allocation, from which device_alloc then allocates as long as it fits. To
 * be called before the first device_alloc. False if the GPU does not have enough memory. Does nothing on a device that
 * is not a GPU. */
bool cuda_reserve(Device *dev, size_t bytes);
