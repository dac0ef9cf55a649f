/* load.cu: loads all kernels when a GPU is opened. CUDA itself loads a kernel at its first launch, into memory that a
 * run would have taken by then. */
#include "device/cuda/native/gpu_native.h"

#ifdef SHIM
void load_kernels(void)
{
}
#else
namespace
{

enum { MOST_KERNELS = 1024 };
const void *kernels[MOST_KERNELS]; /* more than these are loaded at their first launch */
int n_kernels;

} // namespace

/* The objects of nvcc tell CUDA's runtime of each kernel by __cudaRegisterFunction, before main. The linker gives them
 * this function instead (--wrap in cmake/cuda.cmake), and calls the runtime's own __real___cudaRegisterFunction. */
extern "C" {
void __real___cudaRegisterFunction(void **binary, const char *kernel, char *function, const char *name, int threads,
                                   uint3 *thread, uint3 *block, dim3 *block_size, dim3 *grid, int *warp_size);
void __wrap___cudaRegisterFunction(void **binary, const char *kernel, char *function, const char *name, int threads,
                                   uint3 *thread, uint3 *block, dim3 *block_size, dim3 *grid, int *warp_size)
{
    __real___cudaRegisterFunction(binary, kernel, function, name, threads, thread, block, block_size, grid, warp_size);
    if (n_kernels < MOST_KERNELS)
        kernels[n_kernels++] = kernel;
}
}

/* An error is ignored: the kernel's launch would report it again. */
void load_kernels(void)
{
    cudaFuncAttributes attributes;
    for (int i = 0; i < n_kernels; i++)
        if (cudaFuncGetAttributes(&attributes, kernels[i]) != cudaSuccess)
            (void)cudaGetLastError();
}
#endif
