/* cuda.h: the cuda backend, for NVIDIA GPUs. Its code is in the shared library loam-cuda.so, which is opened only when
 * a GPU is requested, so that the program also runs on machines without it. */
#pragma once

#include "device/cuda/scratch.h" /* what a plan counts */
#include "device/device.h"

enum { CUDA_WHY = 400 };   /* largest number of bytes of a text that gives the reason of a failure, one line */
enum { CUDA_ALIGN = 256 }; /* bytes: sizes of allocations in a GPU's memory are rounded up to a multiple of this */

typedef struct CudaGpu {
    char name[256];
    size_t memory;  /* bytes */
    int compute;    /* compute capability: 90 for 9.0 */
    bool refuses;   /* its compute mode is Prohibited: no program may use it */
    bool exclusive; /* its compute mode is Exclusive_Process: one process may use it */
    bool slice;     /* it is a part of a GPU that MIG divides */
    char uuid[16];  /* the same for every process that sees this GPU */
} CudaGpu;

/* Whether the machine has an NVIDIA driver, libcuda.so.1. */
bool cuda_has_driver(void);
/* Writes the versions of the driver, loam-cuda.so and cuBLASLt to `text` (CUDA_WHY bytes), one line; false if no GPU
 * can be used, with the reason in `text`. The environment variable LOAM_CUDA_COMPAT names the folder of NVIDIA's
 * package cuda-compat, whose driver is used if the machine's is too old. */
bool cuda_versions(char *text);
/* Opens loam-cuda.so, at the first call, and sets *n to the number of GPUs. If no GPU can be used, returns false and
 * writes the reason to `why` (CUDA_WHY bytes): loam-cuda.so is missing, cut short, of another build or lacks a library;
 * the driver is missing or too old; the machine has no GPU. LOAM_CUDA_BACKEND in the environment names another file. */
bool cuda_gpus(int *n, char *why);
/* Sets *gpu to the properties of GPU number `index`. On failure returns false and writes the reason to `why`. */
bool cuda_describe(int index, CudaGpu *gpu, char *why);
/* Opens GPU number `index`, that is cuda:INDEX. The dtypes of its tensors are those of device_open_cpu. On failure
 * returns NULL and writes the reason to `why` (CUDA_WHY bytes). */
Device *device_open_cuda(int index, Precision precision, char *why);
/* Allocates `bytes` of a GPU's memory at once; device_alloc then takes its memory from this allocation while enough of
 * it is free, and the first dev->gpu.scratch bytes are scratch memory of operations. To be called before the first
 * device_alloc. False if the GPU does not have enough memory. Does nothing on a device that is not a GPU. */
bool cuda_reserve(Device *dev, size_t bytes);

/* ---- queues beside that of a device ---- */

/* Opens a second device on the GPU of `dev`, whose queue has a higher priority than that of `dev`: its operations run
 * beside those of `dev`. Activations may be f32 as well as the compute dtype. It has no memory, no transfers and no
 * matrix products. On failure returns NULL and writes the reason to `why`. device_close closes it. */
Device *cuda_open_beside(Device *dev, char *why);
/* The queue of a GPU, a cudaStream_t, to which other libraries of CUDA may add work. */
void *cuda_stream(Device *dev);
/* Work queued for `dev` from now on starts when all work before `event` of `other`, on the same GPU, is done. */
void cuda_follow(Device *dev, Device *other, DeviceEvent event);
/* Whether all work before the event is done; does not wait. Any thread may call it. */
bool cuda_reached(Device *dev, DeviceEvent event);
