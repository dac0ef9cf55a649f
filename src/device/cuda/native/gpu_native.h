/* gpu_native.h: the fields of an open GPU (Gpu in gpu.h), for the files that only nvcc compiles. */
#pragma once

#include "device/cuda/kernels/kernels.h"

#include <cublasLt.h>

enum { PINNED_BYTES = 4 << 20, ARRIVALS = 64, EVENTS = 64, PLANS = 512, PRODUCT_BYTES = 32 << 20, GRAPHS = 4 };

/* A buffer of page-locked memory of the host. Each copy uses the next unused part of it. */
struct Pinned {
    char *memory; /* (PINNED_BYTES) */
    size_t used;
    cudaEvent_t sent; /* event that CUDA reaches when all copies from this buffer are done */
};

/* A pending download: the GPU copies `bytes` bytes to gpu->landing at offset `at`; when `event` has been reached, the
 * host copies them from there to `to`. */
struct Arrival {
    char *to;
    size_t at, bytes;
    DeviceEvent event;
};

/* The memory that cuda_reserve allocated, from which device_alloc takes blocks. `cuts` lists the blocks in use in the
 * order of their addresses, memory + at. */
struct Reservation {
    char *memory;
    size_t bytes;
    struct Cut {
        size_t at, bytes;
    } * cuts;
    int n_cuts, room; /* room: capacity of the array */
};

/* Everything about a matrix product that cuBLASLt's choice of an algorithm depends on. Keys are compared as bytes, so
 * the struct has no padding: `unused` and `unused_too` are 0. */
struct PlanKey {
    int64_t m, n, k, lda, ldb, ldy;
    DType a_dtype, b_dtype, y_dtype;
    int32_t ta, tb, bias, tf32, unused;
    uint32_t align_a, align_b, align_y, unused_too;
};
struct Plan {
    PlanKey key;
    cublasLtMatmulDesc_t what;
    cublasLtMatrixLayout_t a, b, y;
    cublasLtMatmulAlgo_t how;
    uint32_t writes; /* calls that wrote y without adding to it */
    bool timed;      /* `how` is the result of tuning.cu */
};

/* The operands of one product of a plan. */
struct Product {
    const void *a, *b;
    void *y;
    float alpha;
};

/* A part of device_repeat. */
struct Graph {
    const void *owner; /* NULL: unused */
    int64_t number;
    int runs;              /* calls that did not find it ready */
    cudaGraphExec_t ready; /* NULL until it has been captured */
    const void *scratch;   /* Gpu.scratch at that time */
};

struct Gpu {
    int index;
    cudaStream_t stream;
    bool begins_early;  /* gpu_begins_early */
    bool shares_little; /* gpu_shares_little */
    /* DeviceEvent n is recorded in events[n % EVENTS], which is used again for DeviceEvent n + EVENTS; waiting for it
     * then waits for this later event. */
    cudaEvent_t events[EVENTS];
    uint64_t recorded, reached; /* number of DeviceEvents recorded, and of those that have been waited for */
    void *scratch;
    size_t scratch_bytes;
    bool scratch_reserved; /* scratch is a part of `reserved` */
    unsigned *tickets;
    Pinned pinned[2]; /* two buffers for uploads; `turn` says which one is in use */
    int turn;
    Pinned landing; /* buffer for downloads */
    Arrival arrivals[ARRIVALS];
    int n_arrivals;
    Reservation reserved;
    cudaStream_t up, down;      /* streams of QUEUE_COPY_TO and QUEUE_COPY_FROM (device.h) */
    cudaEvent_t fences[QUEUES]; /* events for device_follow, one per queue that another queue waits for */
    Group group;
    cublasLtHandle_t lt;
    void *workspace; /* (PRODUCT_BYTES) workspace of cuBLASLt */
    Plan plans[PLANS];
    int n_plans, next_plan, n_timed;
    bool takes_graphs, captures; /* captures: what is queued now goes into a graph */
    Graph graphs[GRAPHS];
    int next_graph; /* index of the oldest */
};

/* stream.cu: selects the GPU that later calls of CUDA in this thread of the host are for. */
cudaError_t gpu_choose(int index);
/* Selects the device's GPU for the calling thread. Every function of the device's OpTable calls this first, since the
 * thread may have used another GPU before. operation: its name, for messages; NULL means none. */
void gpu_enter(const Device *dev, const char *operation = NULL);
/* Ends the program with a one-line message, as gpu_answer does, if another library than CUDA's runtime has returned the
 * error `text`. `what` names the call. */
[[noreturn]] void gpu_fail(const char *what, const char *text);
/* From now on *first gets the first error of gpu_answer in this thread, and the program goes on; NULL ends this. */
void gpu_note_errors(cudaError_t *first);
/* Whether errors are noted; then stores `answer`, unless there was one before. */
bool gpu_notes(cudaError_t answer);

/* Ends a function that returns a cudaError_t with the answer of a call, unless that is success. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        const cudaError_t tried = (call);                                                                              \
        if (tried != cudaSuccess)                                                                                      \
            return tried;                                                                                              \
    } while (0)

/* queue.cu: streams, page-locked memory, and the functions of OpTable for transfers and events. */
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

/* graphs.cu: functions of OpTable for parts that repeat */
void native_repeat(Device *dev, const void *owner, int64_t number, void (*queue)(void *data), void *data);
void native_forget(Device *dev, const void *owner);
void graphs_close(Gpu *gpu);

/* memory.cu: CudaBackend.reserve, and the functions of OpTable for memory. */
bool native_reserve(Device *dev, size_t bytes);
void *native_alloc(Device *dev, size_t bytes);
void native_free(Device *dev, void *p);
size_t native_memory_available(Device *dev);
void reservation_close(Gpu *gpu);

/* lt.cu: ends the program, naming the product, unless cuBLASLt's answer is success. */
void lt_answer(cublasStatus_t answer, const PlanKey &key);
/* Asks cuBLASLt for its best guesses of up to `most` algorithms, at least one, and returns their number. */
int lt_find(Gpu *gpu, const Plan *plan, cublasLtMatmulHeuristicResult_t *found, int most);
/* Queues a product by the algorithm `how`. */
cublasStatus_t lt_run(Gpu *gpu, const Plan *plan, const Product &call, const cublasLtMatmulAlgo_t *how, float beta);

/* products.cu: opens and closes cuBLASLt, which computes matrix products */
bool products_open(Gpu *gpu);
void products_close(Gpu *gpu);

/* tuning.cu: before a call that writes y without adding to it: times the algorithms if that is due, and keeps the best
 * in plan->how. Afterwards the content of y is undefined; the caller computes the product next. */
void tuning_choose(Gpu *gpu, Plan *plan, const Product &call, Tensor y);
