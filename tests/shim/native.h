/* native.h: a GPU of the fake CUDA runtime, opened by the native files of the backend, for the tests of them. */
#pragma once

#include "device/cuda/backend.h"
#include "shim/cuda/fake.h"

#include <glib.h>

const CudaBackend *loam_cuda_backend(void);

static inline Device *open_gpu_of(int index, FakeOrder order, Precision precision)
{
    const CudaBackend *backend = loam_cuda_backend();
    char why[CUDA_WHY];
    fake_cuda_order(order);
    void *impl = backend->open(index, why);
    if (impl == NULL)
        g_error("%s", why);
    return device_new("cuda", backend->ops, precision, true, 1, "cuda", impl);
}

static inline Device *open_gpu(int index, FakeOrder order)
{
    return open_gpu_of(index, order, precision_uniform(DT_F32));
}

static inline Precision in_bf16(void)
{
    return (Precision){
        .compute = DT_BF16, .residual = DT_BF16, .grad = DT_BF16, .master = DT_F32, .state = DT_F32, .fp8_bytes = true
    };
}
