/* gpu_native.h: a GPU that is open, for the files that only nvcc compiles. */
#pragma once

#include "device/cuda/kernels/kernels.h"

#include <cublasLt.h>

enum { PINNED_BYTES = 4 << 20, ARRIVALS = 64, EVENTS = 64, PLANS = 512, PRODUCT_BYTES = 32 << 20 };

/* Page-locked memory of the host, cut from its beginning on. */
struct Pinned {
    char *memory; /* (PINNED_BYTES) */
    size_t used;
    cudaEvent_t sent; /* after the last copy from it */
};

/* A download on its way: to gpu->landing + at first, to `to` when its event has been reached. */
struct Arrival {
    char *to;
    size_t at, bytes;
    DeviceEvent event;
};

/* One allocation, of which blocks are cut: in the order of their addresses, which begin at memory + at. */
struct Reservation {
    char *memory;
    size_t bytes;
    struct Cut {
        size_t at, bytes;
    } * cuts;
    int n_cuts, room; /* room: of the array */
};

/* A product's shape, and how cuBLASLt computes it. The key is compared as bytes: its memory is zeroed first. */
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
    Pinned pinned[2]; /* uploads, in turns */
    int turn;
    Pinned landing; /* downloads */
    Arrival arrivals[ARRIVALS];
    int n_arrivals;
    Reservation reserved;
    cudaStream_t up, down;      /* QUEUE_COPY_TO, QUEUE_COPY_FROM */
    cudaEvent_t fences[QUEUES]; /* of device_follow, one for each queue that is followed */
    Group group;
    cublasLtHandle_t lt;
    void *workspace; /* (PRODUCT_BYTES) of the products */
    Plan plans[PLANS];
    int n_plans, next_plan;
};

/* stream.cu. CUDA keeps for each thread the number of the GPU that its calls are for. */
cudaError_t gpu_choose(int index);
/* First in each entry of the table: any thread may call it, and a thread may have called for another GPU. `operation`
 * as for gpu_begin. */
void gpu_enter(const Device *dev, const char *operation = NULL);
/* Ends the program with one line, as gpu_answer does, for a library whose answer reads `text`. */
[[noreturn]] void gpu_fail(const char *what, const char *text);

/* queue.cu: the streams, pinned memory, and the entries of the table for transfers and events. */
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

/* memory.cu: CudaBackend.reserve, and the entries of the table for memory. */
bool native_reserve(Device *dev, size_t bytes);
void *native_alloc(Device *dev, size_t bytes);
void native_free(Device *dev, void *p);
size_t native_memory_available(Device *dev);
void reservation_close(Gpu *gpu);

/* products.cu */
bool products_open(Gpu *gpu);
void products_close(Gpu *gpu);
