/* backend_shim.cc: a loam-cuda.so for machines without a GPU: what the program sees is one GPU, whose kernels run on
 * the host. So the whole program is tested on them. LOAM_FAKE_GPU says which GPU it is: its compute capability. */
#include "shim/device_shim_table.h"

extern "C" {
#include "device/cuda/backend.h"
}

#include <stdio.h>
#include <stdlib.h>

static bool count(int *n, char *)
{
    *n = 1;
    return true;
}

static bool describe(int, CudaGpu *gpu, char *)
{
    const char *compute = getenv("LOAM_FAKE_GPU");
    strcpy(gpu->name, "Shim");
    gpu->memory = shim_memory();
    gpu->compute = compute ? atoi(compute) : 90;
    return true;
}

/* LOAM_FAKE_GPU_REFUSES: why the GPU does not open. */
static void *open_gpu(int, char *why)
{
    const char *reason = getenv("LOAM_FAKE_GPU_REFUSES");
    if (reason)
        snprintf(why, CUDA_WHY, "GPU 0 does not open: %s", reason);
    return reason ? NULL : shim_gpu_new();
}

extern "C" const CudaBackend *loam_cuda_backend(void)
{
    static const CudaBackend backend = { cuda_signature, CUDA_SIZES, 13000,    80,          GPU_HEAD_DIM,
                                         count,          describe,   open_gpu, shim_table() };
    return &backend;
}
