/* backend.cu: opens a GPU: its memory and transfers, and the table of operations that the program asks for. */
#include "device/cuda/native/gpu_native.h"

extern "C" {
#include "device/cuda/backend.h"
}

#include <stdio.h>
#include <stdlib.h>

enum { PROBE = 0x10A3 };

/* CUDA keeps for each thread the number of the GPU that its calls are for. This is the number that the thread chose. */
static thread_local int chosen = -1;

static cudaError_t choose_gpu(int index)
{
    cudaError_t answer = chosen == index ? cudaSuccess : cudaSetDevice(index);
    if (answer == cudaSuccess)
        chosen = index;
    return answer;
}

/* First in each entry of the table: any thread may call it, and a thread may have called for another GPU. */
static void enter(const Device *dev)
{
    gpu_answer(choose_gpu(gpu_of(dev)->index), "choosing the GPU");
}

static void *native_alloc(Device *dev, size_t bytes)
{
    void *p = NULL;
    enter(dev);
    cudaError_t answer = cudaMalloc(&p, bytes ? bytes : 1);
    if (answer == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError(); /* the caller says what did not fit */
        return NULL;
    }
    gpu_answer(answer, "memory");
    return p;
}

static void native_free(Device *dev, void *p)
{
    enter(dev);
    gpu_answer(cudaFree(p), "freeing memory");
}

static size_t native_room(Device *dev)
{
    size_t room, total;
    enter(dev);
    gpu_answer(cudaMemGetInfo(&room, &total), "free memory");
    return room;
}

/* By way of two pinned buffers in turns: the caller's memory is free again at once, and one is copied by the processor
 * while the other travels. */
static void native_upload(Device *dev, void *to, const void *from, size_t bytes)
{
    Gpu *gpu = gpu_of(dev);
    enter(dev);
    for (size_t at = 0, n; at < bytes; at += n) {
        Pinned *pinned = &gpu->pinned[gpu->turn ^= 1];
        n = bytes - at < PINNED_BYTES ? bytes - at : PINNED_BYTES;
        gpu_answer(cudaEventSynchronize(pinned->sent), "an upload");
        memcpy(pinned->memory, (const char *)from + at, n);
        gpu_answer(cudaMemcpyAsync((char *)to + at, pinned->memory, n, cudaMemcpyHostToDevice, gpu->stream),
                   "an upload");
        gpu_answer(cudaEventRecord(pinned->sent, gpu->stream), "an upload");
    }
}

static void native_download(Device *dev, void *to, const void *from, size_t bytes)
{
    enter(dev);
    gpu_answer(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, gpu_of(dev)->stream), "a download");
}

/* An event stands for its mark, or, when MARKS later ones have been recorded, for one of those. */
static DeviceMark native_record(Device *dev)
{
    Gpu *gpu = gpu_of(dev);
    DeviceMark mark = gpu->marks++;
    enter(dev);
    gpu_answer(cudaEventRecord(gpu->events[mark % MARKS], gpu->stream), "a mark");
    return mark;
}

static void native_wait(Device *dev, DeviceMark mark)
{
    enter(dev);
    gpu_answer(cudaEventSynchronize(gpu_of(dev)->events[mark % MARKS]), "waiting");
}

static void native_group(Device *dev, bool open)
{
    enter(dev);
    group_set(dev, open);
}

static void *native_host_alloc(Device *dev, size_t bytes)
{
    void *p = NULL;
    enter(dev);
    if (cudaMallocHost(&p, bytes ? bytes : 1) == cudaSuccess)
        return p;
    (void)cudaGetLastError(); /* the caller says what did not fit */
    return NULL;
}

static void native_host_free(Device *dev, void *p)
{
    enter(dev);
    gpu_answer(cudaFreeHost(p), "freeing memory of the host");
}

static void native_send(Device *dev, void *to, const void *from, size_t bytes)
{
    enter(dev);
    gpu_answer(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, gpu_of(dev)->up), "a copy to the GPU");
}

static void native_fetch(Device *dev, void *to, const void *from, size_t bytes)
{
    enter(dev);
    gpu_answer(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, gpu_of(dev)->down), "a copy from the GPU");
}

static cudaStream_t stream_of(const Gpu *gpu, DeviceQueue queue)
{
    return queue == QUEUE_WORK ? gpu->stream : queue == QUEUE_UP ? gpu->up : gpu->down;
}

/* A stream waits for an event as it was recorded last before, so one event a queue is enough. */
static void native_follow(Device *dev, DeviceQueue queue, DeviceQueue earlier)
{
    Gpu *gpu = gpu_of(dev);
    enter(dev);
    gpu_answer(cudaEventRecord(gpu->fences[earlier], stream_of(gpu, earlier)), "a mark");
    gpu_answer(cudaStreamWaitEvent(stream_of(gpu, queue), gpu->fences[earlier], 0), "the order of queues");
}

static void gpu_free(Gpu *gpu)
{
    for (Pinned &pinned : gpu->pinned) {
        if (pinned.sent)
            cudaEventDestroy(pinned.sent);
        cudaFreeHost(pinned.memory);
    }
    for (cudaEvent_t event : gpu->events)
        if (event)
            cudaEventDestroy(event);
    for (cudaEvent_t fence : gpu->fences)
        if (fence)
            cudaEventDestroy(fence);
    products_close(gpu);
    cudaFree(gpu->scratch);
    cudaFree(gpu->tickets);
    for (cudaStream_t stream : { gpu->stream, gpu->up, gpu->down })
        if (stream)
            cudaStreamDestroy(stream);
    free(gpu);
}

static void native_close(Device *dev)
{
    Gpu *gpu = gpu_of(dev);
    enter(dev);
    for (cudaStream_t stream : { gpu->stream, gpu->up, gpu->down })
        gpu_answer(cudaStreamSynchronize(stream), "closing");
    gpu_free(gpu);
}

static bool native_count(int *n, char *why)
{
    cudaError_t answer = cudaGetDeviceCount(n);
    if (answer == cudaSuccess || answer == cudaErrorNoDevice)
        return true;
    snprintf(why, CUDA_WHY, "the driver does not count its GPUs: %s", cudaGetErrorString(answer));
    return false;
}

static bool native_describe(int index, CudaGpu *gpu, char *why)
{
    cudaDeviceProp properties;
    cudaError_t answer = cudaGetDeviceProperties(&properties, index);
    if (answer != cudaSuccess) {
        snprintf(why, CUDA_WHY, "GPU %d: %s", index, cudaGetErrorString(answer));
        return false;
    }
    snprintf(gpu->name, sizeof gpu->name, "%s", properties.name);
    gpu->memory = properties.totalGlobalMem;
    gpu->compute = properties.major * 10 + properties.minor;
    return true;
}

/* Writes a number, so that a GPU that the file has no code for is known when it is opened. */
static __global__ void probe_kernel(unsigned *at)
{
    *at = PROBE;
}

static cudaError_t probe(Gpu *gpu)
{
    unsigned seen = 0;
    probe_kernel<<<1, 1, 0, gpu->stream>>>(gpu->tickets);
    cudaError_t answer = cudaGetLastError();
    if (answer == cudaSuccess)
        answer = cudaMemcpyAsync(&seen, gpu->tickets, sizeof seen, cudaMemcpyDeviceToHost, gpu->stream);
    if (answer == cudaSuccess)
        answer = cudaMemsetAsync(gpu->tickets, 0, TICKETS * sizeof *gpu->tickets, gpu->stream);
    if (answer == cudaSuccess)
        answer = cudaStreamSynchronize(gpu->stream);
    return answer != cudaSuccess || seen == PROBE ? answer : cudaErrorUnknown;
}

static cudaError_t create(Gpu *gpu)
{
    cudaError_t answer = choose_gpu(gpu->index);
    for (cudaStream_t *stream : { &gpu->stream, &gpu->up, &gpu->down })
        if (answer == cudaSuccess)
            answer = cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking);
    if (answer == cudaSuccess)
        answer = cudaMalloc((void **)&gpu->tickets, TICKETS * sizeof *gpu->tickets);
    if (answer == cudaSuccess)
        answer = probe(gpu);
    for (Pinned &pinned : gpu->pinned) {
        if (answer == cudaSuccess)
            answer = cudaMallocHost(&pinned.memory, PINNED_BYTES);
        if (answer == cudaSuccess)
            answer = cudaEventCreateWithFlags(&pinned.sent, cudaEventDisableTiming);
    }
    for (cudaEvent_t &event : gpu->events)
        if (answer == cudaSuccess)
            answer = cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    for (cudaEvent_t &fence : gpu->fences)
        if (answer == cudaSuccess)
            answer = cudaEventCreateWithFlags(&fence, cudaEventDisableTiming);
    return answer == cudaSuccess ? cudaDeviceSynchronize() : answer;
}

static void *native_open(int index, char *why)
{
    Gpu *gpu = (Gpu *)calloc(1, sizeof *gpu);
    if (gpu == NULL) {
        snprintf(why, CUDA_WHY, "GPU %d: no memory", index);
        return NULL;
    }
    gpu->index = index;
    cudaError_t answer = create(gpu);
    if (answer == cudaSuccess && products_open(gpu))
        return gpu;
    snprintf(why, CUDA_WHY, "GPU %d does not open: %s", index,
             answer == cudaSuccess ? "cuBLASLt" : cudaGetErrorString(answer));
    gpu_free(gpu);
    return NULL;
}

/* Each operation for the GPU of its device. */
#define OP(name, parameters, arguments, operands, rules, flops)                                                        \
    static void native_##name parameters                                                                               \
    {                                                                                                                  \
        enter(dev);                                                                                                    \
        gpu_##name arguments;                                                                                          \
    }
#include "device/op_list.inc"
#undef OP

static OpTable native_table(void)
{
    OpTable table = {};
    table.close = native_close;
    table.alloc = native_alloc;
    table.free = native_free;
    table.upload = native_upload;
    table.download = native_download;
    table.record = native_record;
    table.wait = native_wait;
    table.room = native_room;
    table.group = native_group;
    table.host_alloc = native_host_alloc;
    table.host_free = native_host_free;
    table.send = native_send;
    table.fetch = native_fetch;
    table.follow = native_follow;
#define OP(name, parameters, arguments, operands, rules, flops) table.name = native_##name;
#include "device/op_list.inc"
#undef OP
    return table;
}

extern "C" __attribute__((visibility("default"))) const CudaBackend *loam_cuda_backend(void)
{
    static const OpTable table = native_table();
    static const CudaBackend backend = { cuda_signature, CUDA_SIZES,   CUDART_VERSION / 10 * 10, 80,
                                         GPU_HEAD_DIM,   native_count, native_describe,          native_open,
                                         &table };
    return &backend;
}
