/* fake.h: what tests ask of the fake CUDA runtime (runtime.cc), and what they are told. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* When queued work is done. Each is an order that CUDA may choose. */
typedef enum FakeOrder {
    FAKE_LATE,     /* not before somebody waits for it, and of other streams only as much as it waits for */
    FAKE_EARLY,    /* as late on the stream that was made first, at once on the others */
    FAKE_SHUFFLED, /* at random, one stream or another */
    FAKE_AT_ONCE,  /* when it is queued, or, if it has to wait for other ranks, when an event is looked at */
    FAKE_ORDERS
} FakeOrder;
void fake_cuda_order(FakeOrder order);

typedef struct FakeCounts {
    long waits;                 /* calls that had to wait for work which was not done */
    long launches, products;    /* kernels; matrix products by cuBLASLt */
    long early;                 /* kernels that may begin before the work before them, also a kernel, has ended */
    long choices, fast;         /* algorithms that cuBLASLt was asked for; products with fast accumulation */
    int algorithm;              /* the number of the last product's algorithm (lt.cc) */
    size_t shared;              /* bytes of shared memory that launches asked for, one block of each */
    double slow;                /* multiply-adds of products in a form that cuBLASLt has no fast algorithm for */
    long uploads, downloads;    /* copies between host and device */
    long copies;                /* copies and fills within the device */
    long captured, graphs;      /* kernels, products, copies and fills that went into graphs; launches of graphs */
    long collectives;           /* of NCCL, and its messages */
    long allocations;           /* of device memory */
    long records, follows;      /* events recorded; waits of a stream for an event */
    size_t used, peak, largest; /* bytes of device memory at this moment, at most, and of the largest allocation */
    size_t pinned, most_pinned; /* bytes of pinned memory at this moment, and at most */
} FakeCounts;
FakeCounts fake_cuda_counts(void);
/* The allocation of device memory after `n` more that succeed fails, once; -1 means none. */
void fake_cuda_fail_after(long n);

#ifdef __cplusplus
}
#endif
