/* host_device.h: HOST_DEVICE marks inline functions that kernels of the cuda backend call too. */
#pragma once

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif
