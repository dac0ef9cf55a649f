/* backend.h: the interface of loam-cuda.so, which the program opens at run time. The program and loam-cuda.so must
 * be compiled from the same headers; `signature` and `sizes` check this. */
#pragma once

#include "device/cuda/cuda.h"
#include "device/op_table.h"

#define CUDA_BACKEND_ENTRY "loam_cuda_backend" /* the exported function: const CudaBackend *(void) */

/* Signature of the interface: loam's version, then the name and the parameters of every operation. */
static const char cuda_signature[] = LOAM_VERSION
#define OP(name, parameters, arguments, operands, rules, flops) " " #name #parameters
#include "device/op_list.inc"
#undef OP
    ;

/* Sizes of the structs that operations take as arguments. */
#define CUDA_SIZES                                                                                                     \
    {                                                                                                                  \
        sizeof(Tensor), sizeof(AttnSpec), sizeof(Dropout), sizeof(RelposSpec), sizeof(XentSpec), sizeof(AdamwSpec),    \
            sizeof(AdafactorSpec), sizeof(StepScalars), sizeof(Device), sizeof(OpTable), sizeof(CudaGpu)               \
    }

/* The exported table. The table of another build may be shorter, so the program stops reading it at the first field
 * that differs from its own build. */
typedef struct CudaBackend {
    size_t size; /* sizeof (CudaBackend); the first field in every build */
    const char *signature;
    size_t sizes[11]; /* CUDA_SIZES */
    int cuda; /* CUDA version of the build, 13000 for 13.0: the driver must support this version or a later one */
    int least_compute; /* compute capability of the oldest GPUs that loam-cuda.so has code for: 80 for 8.0 */
    int head_dim;      /* DeviceGpu.head_dim */
    /* On failure these return false and write the reason to `why` (CUDA_WHY bytes). */
    bool (*count)(int *n, char *why);
    bool (*describe)(int index, CudaGpu *gpu, char *why);
    /* Opens a GPU and returns its Device.impl; NULL with the reason in `why`. ops->close frees it. */
    void *(*open)(int index, char *why);
    bool (*reserve)(Device *dev, size_t bytes); /* cuda_reserve */
    const OpTable *ops;
} CudaBackend;
