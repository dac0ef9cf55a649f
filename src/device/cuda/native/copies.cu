/* copies.cu: copies beside the work of a GPU, by a stream up and one down (device_send, device_fetch), and their order.
 */
#include "device/cuda/native/gpu_native.h"

cudaError_t copies_open(Gpu *gpu)
{
    cudaError_t answer = cudaSuccess;
    for (cudaStream_t *stream : { &gpu->up, &gpu->down })
        if (answer == cudaSuccess)
            answer = cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
    for (cudaEvent_t &fence : gpu->fences)
        if (answer == cudaSuccess)
            answer = cudaEventCreateWithFlags(&fence, cudaEventDisableTiming);
    return answer;
}

void copies_close(Gpu *gpu)
{
    for (cudaEvent_t fence : gpu->fences)
        if (fence)
            cudaEventDestroy(fence);
    for (cudaStream_t stream : { gpu->up, gpu->down })
        if (stream)
            cudaStreamDestroy(stream);
}

void *copies_alloc(Device *dev, size_t bytes)
{
    void *p = NULL;
    gpu_enter(dev);
    if (cudaMallocHost(&p, bytes ? bytes : 1) == cudaSuccess)
        return p;
    (void)cudaGetLastError(); /* the caller says what did not fit */
    return NULL;
}

void copies_free(Device *dev, void *p)
{
    gpu_enter(dev);
    gpu_answer(cudaFreeHost(p), "freeing memory of the host");
}

void copies_send(Device *dev, void *to, const void *from, size_t bytes)
{
    gpu_enter(dev);
    gpu_answer(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, gpu_of(dev)->up), "a copy to the GPU");
}

void copies_fetch(Device *dev, void *to, const void *from, size_t bytes)
{
    gpu_enter(dev);
    gpu_answer(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, gpu_of(dev)->down), "a copy from the GPU");
}

static cudaStream_t stream_of(const Gpu *gpu, DeviceQueue queue)
{
    return queue == QUEUE_WORK ? gpu->stream : queue == QUEUE_UP ? gpu->up : gpu->down;
}

/* A stream waits for an event as it was recorded last before, so one event a queue is enough. */
void copies_follow(Device *dev, DeviceQueue queue, DeviceQueue earlier)
{
    Gpu *gpu = gpu_of(dev);
    gpu_enter(dev);
    gpu_answer(cudaEventRecord(gpu->fences[earlier], stream_of(gpu, earlier)), "a mark");
    gpu_answer(cudaStreamWaitEvent(stream_of(gpu, queue), gpu->fences[earlier], 0), "the order of queues");
}
