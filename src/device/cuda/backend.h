/* backend.h: what loam-cuda.so gives the program that opens it: the only thing that the two share at run time. Both
 * sides are compiled from the same headers, which the signature proves. */
#pragma once

#include "device/cuda/cuda.h"
#include "device/op_table.h"

#define CUDA_BACKEND_ENTRY "loam_cuda_backend" /* the exported function: const CudaBackend *(void) */

/* The version and every operation with its parameters. */
static const char cuda_signature[] = LOAM_VERSION
#define OP(name, parameters, arguments, operands, rules, flops) " " #name #parameters
#include "device/op_list.inc"
#undef OP
    ;

/* Sizes of what travels beside the table: arguments, and what they point to. */
#define CUDA_SIZES                                                                                                     \
    {                                                                                                                  \
        sizeof(Tensor), sizeof(AttnSpec), sizeof(Dropout), sizeof(RelposSpec), sizeof(XentSpec), sizeof(AdamwSpec),    \
            sizeof(AdafactorSpec), sizeof(StepScalars), sizeof(Device), sizeof(OpTable), sizeof(CudaGpu)               \
    }

/* A table of another build may be shorter: nothing of it is read after a field that differs from this build's. */
typedef struct CudaBackend {
    size_t size; /* of this struct; first in every build */
    const char *signature;
    size_t sizes[11];  /* CUDA_SIZES */
    int cuda;          /* the CUDA that it was built with, 13000 for 13.0: the driver must be of this one or a later */
    int least_compute; /* compute capability of the oldest GPUs that it has code for: 80 for 8.0 */
    int head_dim;      /* DeviceGpu.head_dim */
    /* False with the reason in `why` (CUDA_WHY bytes). */
    bool (*count)(int *n, char *why);
    bool (*describe)(int index, CudaGpu *gpu, char *why);
    /* The Device.impl of a GPU; NULL with the reason in `why`. ops->close frees it. */
    void *(*open)(int index, char *why);
    bool (*reserve)(Device *dev, size_t bytes); /* cuda_reserve */
    const OpTable *ops;
} CudaBackend;
