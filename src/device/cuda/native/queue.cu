/* queue.cu: the streams of a GPU, events and transfers. Copies use pinned memory: the caller of any other waits. */
#include "device/cuda/native/gpu_native.h"

static cudaError_t pinned_open(Pinned *pinned)
{
    TRY(cudaMallocHost((void **)&pinned->memory, PINNED_BYTES));
    return cudaEventCreateWithFlags(&pinned->sent, cudaEventDisableTiming);
}

static void pinned_close(Pinned *pinned)
{
    if (pinned->sent)
        cudaEventDestroy(pinned->sent);
    cudaFreeHost(pinned->memory);
}

cudaError_t queue_open(Gpu *gpu)
{
    for (cudaStream_t *stream : { &gpu->stream, &gpu->up, &gpu->down })
        TRY(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    for (Pinned *pinned : { &gpu->landing, &gpu->pinned[0], &gpu->pinned[1] })
        TRY(pinned_open(pinned));
    for (cudaEvent_t &event : gpu->events)
        TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    for (cudaEvent_t &fence : gpu->fences)
        TRY(cudaEventCreateWithFlags(&fence, cudaEventDisableTiming));
    return cudaSuccess;
}

void queue_close(Gpu *gpu)
{
    for (Pinned *pinned : { &gpu->landing, &gpu->pinned[0], &gpu->pinned[1] })
        pinned_close(pinned);
    for (cudaEvent_t event : gpu->events)
        if (event)
            cudaEventDestroy(event);
    for (cudaEvent_t fence : gpu->fences)
        if (fence)
            cudaEventDestroy(fence);
    for (cudaStream_t stream : { gpu->stream, gpu->up, gpu->down })
        if (stream)
            cudaStreamDestroy(stream);
}

/* ---- events ---- */

static DeviceEvent record(Gpu *gpu)
{
    gpu_answer(cudaEventRecord(gpu->events[gpu->recorded % EVENTS], gpu->stream), "an event");
    return gpu->recorded++;
}

DeviceEvent native_record_event(Device *dev)
{
    gpu_enter(dev);
    return record(gpu_of(dev));
}

/* Copies finished downloads (those whose events have been reached) to their destinations. */
static void bring(Gpu *gpu)
{
    int n = 0;
    for (; n < gpu->n_arrivals && gpu->arrivals[n].event < gpu->reached; n++)
        memcpy(gpu->arrivals[n].to, gpu->landing.memory + gpu->arrivals[n].at, gpu->arrivals[n].bytes);
    gpu->n_arrivals -= n;
    memmove(gpu->arrivals, gpu->arrivals + n, (size_t)gpu->n_arrivals * sizeof *gpu->arrivals);
    if (gpu->n_arrivals == 0)
        gpu->landing.used = 0;
}

static void wait_for(Gpu *gpu, DeviceEvent event)
{
    if (event < gpu->reached)
        return;
    gpu_answer(cudaEventSynchronize(gpu->events[event % EVENTS]), "waiting");
    gpu->reached = event + 1;
    bring(gpu);
}

void native_wait_event(Device *dev, DeviceEvent event)
{
    gpu_enter(dev);
    wait_for(gpu_of(dev), event);
}

static cudaStream_t stream_of(const Gpu *gpu, DeviceQueue queue)
{
    return queue == QUEUE_WORK ? gpu->stream : queue == QUEUE_COPY_TO ? gpu->up : gpu->down;
}

/* A stream waits for the last recording of an event before the call, so one event per queue is enough. */
void native_follow(Device *dev, DeviceQueue queue, DeviceQueue earlier)
{
    Gpu *gpu = gpu_of(dev);
    gpu_enter(dev);
    gpu_answer(cudaEventRecord(gpu->fences[earlier], stream_of(gpu, earlier)), "an event");
    gpu_answer(cudaStreamWaitEvent(stream_of(gpu, queue), gpu->fences[earlier], 0), "the order of queues");
}

/* ---- transfers ---- */

/* The next `bytes` bytes of pinned memory, or as many as there are; the next cut begins at a multiple of 64. */
static char *cut_pinned(Pinned *pinned, size_t *bytes)
{
    char *p = pinned->memory + pinned->used;
    *bytes = *bytes < PINNED_BYTES - pinned->used ? *bytes : PINNED_BYTES - pinned->used;
    pinned->used += (*bytes + 63) / 64 * 64;
    return p;
}

/* The caller may reuse its memory at once. Waits only if both buffers are full: one fills while the other is copied. */
void native_upload(Device *dev, void *to, const void *from, size_t bytes)
{
    Gpu *gpu = gpu_of(dev);
    gpu_enter(dev);
    for (size_t at = 0, n; at < bytes; at += n) {
        Pinned *pinned = &gpu->pinned[gpu->turn];
        if (pinned->used == PINNED_BYTES) {
            pinned = &gpu->pinned[gpu->turn ^= 1];
            gpu_answer(cudaEventSynchronize(pinned->sent), "an upload");
            pinned->used = 0;
        }
        n = bytes - at;
        char *there = cut_pinned(pinned, &n);
        memcpy(there, (const char *)from + at, n);
        gpu_answer(cudaMemcpyAsync((char *)to + at, there, n, cudaMemcpyHostToDevice, gpu->stream), "an upload");
        gpu_answer(cudaEventRecord(pinned->sent, gpu->stream), "an upload");
    }
}

/* Waits only if there is no space for another pending download. */
void native_download(Device *dev, void *to, const void *from, size_t bytes)
{
    Gpu *gpu = gpu_of(dev);
    gpu_enter(dev);
    for (size_t at = 0, n; at < bytes; at += n) {
        if (gpu->landing.used == PINNED_BYTES || gpu->n_arrivals == ARRIVALS)
            wait_for(gpu, record(gpu));
        n = bytes - at;
        size_t landed = gpu->landing.used;
        char *there = cut_pinned(&gpu->landing, &n);
        gpu_answer(cudaMemcpyAsync(there, (const char *)from + at, n, cudaMemcpyDeviceToHost, gpu->stream),
                   "a download");
        gpu->arrivals[gpu->n_arrivals++] = { (char *)to + at, landed, n, gpu->recorded };
    }
}

/* ---- copies beside the work ---- */

void *native_host_alloc(Device *dev, size_t bytes)
{
    void *p = NULL;
    gpu_enter(dev);
    if (cudaMallocHost(&p, bytes ? bytes : 1) == cudaSuccess)
        return p;
    (void)cudaGetLastError(); /* the caller says what did not fit */
    return NULL;
}

void native_host_free(Device *dev, void *p)
{
    gpu_enter(dev);
    gpu_answer(cudaFreeHost(p), "freeing memory of the host");
}

void native_copy_to(Device *dev, void *to, const void *from, size_t bytes)
{
    gpu_enter(dev);
    gpu_answer(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, gpu_of(dev)->up), "a copy to the GPU");
}

void native_copy_from(Device *dev, void *to, const void *from, size_t bytes)
{
    gpu_enter(dev);
    gpu_answer(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, gpu_of(dev)->down), "a copy from the GPU");
}
