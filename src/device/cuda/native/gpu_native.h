/* gpu_native.h: the fields of an open GPU, for the files that only nvcc compiles. */
#pragma once

#include "device/cuda/kernels/kernels.h"

#include <cublasLt.h>

enum { PINNED_BYTES = 4 << 20, ARRIVALS = 64, EVENTS = 64, PLANS = 512, PRODUCT_BYTES = 32 << 20 };

/* A buffer of page-locked memory of the host, from which copies take consecutive parts. */
struct Pinned {
    char *memory; /* (PINNED_BYTES) */
    size_t used;
    cudaEvent_t sent; /* event after the last copy from this buffer */
};

/* A pending download: the GPU copies it to gpu->landing, and the host from there to `to` when its event has been
 * reached. */
struct Arrival {
    char *to;
    size_t at, bytes;
    DeviceEvent event;
};

/* The reserved memory, from which allocations take blocks; `cuts` lists the used blocks in the order of their
 * addresses, memory + at. */
struct Reservation {
    char *memory;
    size_t bytes;
    struct Cut {
        size_t at, bytes;
    } * cuts;
    int n_cuts, room; /* room: capacity of the array */
};

/* The shape of a matrix product and cuBLASLt's plan for it. Keys are compared as bytes, so padding must be zeroed. */
struct PlanKey {
    int64_t m, n, k, lda, ldb, ldy;
    int32_t a_dtype, b_dtype, y_dtype, ta, tb, bias, tf32, unused;
    uint32_t align_a, align_b, align_y, unused_too;
};
struct Plan {
    PlanKey key;
    cublasLtMatmulDesc_t what;
    cublasLtMatrixLayout_t a, b, y;
    cublasLtMatmulAlgo_t how;
};

struct Gpu {
    int index;
    cudaStream_t stream;
    /* Event n % EVENTS is recorded as DeviceEvent n, and again EVENTS later, so waiting for it waits for event n or a
     * later one. */
    cudaEvent_t events[EVENTS];
    uint64_t recorded, reached; /* events recorded so far; the first `reached` of them have been waited for */
    void *scratch;
    size_t scratch_bytes;
    unsigned *tickets;
    Pinned pinned[2]; /* two buffers for uploads, used in turns */
    int turn;
    Pinned landing; /* buffer for downloads */
    Arrival arrivals[ARRIVALS];
    int n_arrivals;
    Reservation reserved;
    cudaStream_t up, down;      /* QUEUE_COPY_TO, QUEUE_COPY_FROM */
    cudaEvent_t fences[QUEUES]; /* events of device_follow, one per queue that is followed */
    Group group;
    cublasLtHandle_t lt;
    void *workspace; /* (PRODUCT_BYTES) workspace of cuBLASLt */
    Plan plans[PLANS];
    int n_plans, next_plan;
};

/* stream.cu. CUDA keeps, for each thread of the host, which GPU its calls are for. */
cudaError_t gpu_choose(int index);
/* Selects the GPU for the calling thread; called first by every function of the table, since any thread may call it,
 * and may have used another GPU before. operation: as in gpu_begin. */
void gpu_enter(const Device *dev, const char *operation = NULL);
/* Ends the program with a one-line message, as gpu_answer does, for another library that returned the error `text`. */
[[noreturn]] void gpu_fail(const char *what, const char *text);

/* queue.cu: streams, pinned memory, and the table's functions for transfers and events. */
cudaError_t queue_open(Gpu *gpu);
void queue_close(Gpu *gpu);
void native_upload(Device *dev, void *to, const void *from, size_t bytes);
void native_download(Device *dev, void *to, const void *from, size_t bytes);
DeviceEvent native_record_event(Device *dev);
void native_wait_event(Device *dev, DeviceEvent event);
void *native_host_alloc(Device *dev, size_t bytes);
void native_host_free(Device *dev, void *p);
void native_copy_to(Device *dev, void *to, const void *from, size_t bytes);
void native_copy_from(Device *dev, void *to, const void *from, size_t bytes);
void native_follow(Device *dev, DeviceQueue queue, DeviceQueue earlier);

/* memory.cu: CudaBackend.reserve, and the table's functions for memory. */
bool native_reserve(Device *dev, size_t bytes);
void *native_alloc(Device *dev, size_t bytes);
void native_free(Device *dev, void *p);
size_t native_memory_available(Device *dev);
void reservation_close(Gpu *gpu);

/* products.cu */
bool products_open(Gpu *gpu);
void products_close(Gpu *gpu);
