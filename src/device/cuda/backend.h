/* backend.h: the interface of loam-cuda.so, a shared library that the program opens at run time if a GPU is requested.
 * Both must be compiled from the same headers, which `signature` and `sizes` of CudaBackend check. */
#pragma once

#include "device/cuda/cuda.h"
#include "device/op_table.h"

/* Name of the function that loam-cuda.so exports: const CudaBackend *f(void). */
#define CUDA_BACKEND_ENTRY "loam_cuda_backend"

/* A text that changes with the interface: loam's version, then the name and the parameters of every operation. */
static const char cuda_signature[] = LOAM_VERSION
#define OP(name, parameters, arguments, operands, rules, flops) " " #name #parameters
#include "device/op_list.inc"
#undef OP
    ;

/* Sizes of the structs that the program and loam-cuda.so exchange. */
#define CUDA_SIZES                                                                                                     \
    {                                                                                                                  \
        sizeof(Tensor), sizeof(AttnSpec), sizeof(Dropout), sizeof(RelposSpec), sizeof(XentSpec), sizeof(AdamwSpec),    \
            sizeof(AdafactorSpec), sizeof(StepScalars), sizeof(Device), sizeof(OpTable), sizeof(CudaGpu)               \
    }

/* The table of functions that loam-cuda.so exports. The table of another build may be shorter, so the program reads the
 * fields in order and stops at the first one that differs from its own. */
typedef struct CudaBackend {
    size_t size; /* sizeof (CudaBackend); this is the first field in every build */
    const char *signature;
    size_t sizes[11]; /* CUDA_SIZES */
    int cuda; /* version of CUDA that loam-cuda.so was built with, 13000 for 13.0; the driver must support this major
               * version */
    int cublaslt;      /* version of the library cuBLASLt that was found, 130200 for 13.2.0 */
    int least_compute; /* compute capability of the oldest GPUs that loam-cuda.so has code for: 80 for 8.0 */
    int head_dim;      /* DeviceGpu.head_dim */
    /* count and describe do what cuda_gpus and cuda_describe (cuda.h) do: on failure they return false and write the
     * reason to `why` (CUDA_WHY bytes). */
    bool (*count)(int *n, char *why);
    bool (*describe)(int index, CudaGpu *gpu, char *why);
    /* Opens a GPU and returns its Device.impl; NULL with the reason in `why`. ops->close frees it. */
    void *(*open)(int index, char *why);
    bool (*reserve)(Device *dev, size_t bytes); /* does what cuda_reserve (cuda.h) does */
    const OpTable *ops;                         /* the functions of the device (op_table.h) */
    /* The following functions do what cuda_open_beside, cuda_stream, cuda_follow and cuda_reached (cuda.h) do. */
    void *(*open_beside)(Device *dev, char *why);
    void *(*stream)(Device *dev);
    void (*follow)(Device *dev, Device *other, DeviceEvent event);
    bool (*reached)(Device *dev, DeviceEvent event);
} CudaBackend;
