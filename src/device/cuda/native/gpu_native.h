/* gpu_native.h: a GPU that is open, for the files that only nvcc compiles. */
#pragma once

#include "device/cuda/kernels/kernels.h"

#include <cublasLt.h>

enum { PINNED_BYTES = 4 << 20, MARKS = 64, PLANS = 512, PRODUCT_BYTES = 32 << 20 };

/* Page-locked memory of the host on its way to the device. */
struct Pinned {
    void *memory;
    cudaEvent_t sent;
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
    void *scratch;
    size_t scratch_bytes;
    unsigned *tickets;
    Pinned pinned[2];
    int turn;
    cudaEvent_t events[MARKS];
    uint64_t marks;
    cudaStream_t up, down;      /* QUEUE_UP, QUEUE_DOWN */
    cudaEvent_t fences[QUEUES]; /* of device_follow, one for each queue that is followed */
    Group group;
    cublasLtHandle_t lt;
    void *workspace; /* (PRODUCT_BYTES) of the products */
    Plan plans[PLANS];
    int n_plans, next_plan;
};

bool products_open(Gpu *gpu);
void products_close(Gpu *gpu);
