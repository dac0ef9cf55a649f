/* tensor_parallel.h: ranks that divide the matrices of a model among them (tensor parallelism, Shoeybi et al. 2019).
 * Each rank computes with its rows of some matrices and its columns of others; after a matrix that is divided by
 * columns the ranks add up their partial products. The residual stream is the same on all of them. */
#pragma once

#include "comm/comm.h"

typedef struct TensorParallel {
    Comm *ranks; /* the ranks that divide the matrices; NULL means that nothing is sent, only counted in sent_bytes */
    int rank, size;     /* this rank and the number of ranks; size 0 or 1 means that the matrices are not divided */
    int64_t sent_bytes; /* bytes that this rank has sent, or with ranks NULL would have sent */
    bool sequence;      /* between the sublayers each rank has only its rows of the residual stream (nn/rows.h) */
    int n_copies; /* number of neighbouring ranks that have the same key/value head, if there are more ranks than such
                     heads; 0 or 1 means that every rank has heads of its own */
    Comm *copies; /* the ranks with the key/value head of this rank; NULL if it is alone or nothing is sent */
} TensorParallel;

/* The number of ranks, and this rank; 1 and 0 if tp is NULL. */
static inline int tensor_parallel_size(const TensorParallel *tp)
{
    return tp && tp->size > 1 ? tp->size : 1;
}
static inline int tensor_parallel_rank(const TensorParallel *tp)
{
    return tp && tp->size > 1 ? tp->rank : 0;
}

/* The number of neighbouring ranks that have the same key/value heads, and whether this is the first of them. */
static inline int tensor_parallel_copies(const TensorParallel *tp)
{
    return tensor_parallel_size(tp) > 1 && tp->n_copies > 1 ? tp->n_copies : 1;
}
static inline bool tensor_parallel_first_copy(const TensorParallel *tp)
{
    return tensor_parallel_rank(tp) % tensor_parallel_copies(tp) == 0;
}

/* x, a contiguous tensor, becomes the sum of x over all ranks, added in the order of the ranks; operations that are
 * queued on the device after this call see the sum. Does nothing if tp is NULL or there is one rank. */
void tensor_parallel_sum(TensorParallel *tp, Device *dev, Tensor x);

/* x, contiguous, becomes its sum over the ranks with the same key/value heads. No effect if each has its own. */
void tensor_parallel_sum_copies(TensorParallel *tp, Device *dev, Tensor x);

/* Divides n rows, columns or classes among `size` ranks as evenly as possible, and returns the first one of rank
 * `rank`: rank r has [tensor_parallel_start(n, size, r), tensor_parallel_start(n, size, r + 1)). No rank has more than
 * the first. */
static inline int64_t tensor_parallel_start(int64_t n, int size, int rank)
{
    return (n * rank + size - 1) / size;
}

/* all, a vector = the concatenation of the vectors `own` of all ranks; the vector of rank r begins at element starts[r]
 * of `all`. starts (size + 1) is copied. own may be this rank's part of `all`. Operations that are queued on the device
 * after this call see the result. Called only with two or more ranks. */
void tensor_parallel_gather(TensorParallel *tp, Device *dev, Tensor all, Tensor own, const int64_t *starts);

/* own, a vector = elements starts[rank] … starts[rank + 1] - 1 of the sum of `all` over all ranks, added in the order
 * of the ranks; own may be this part of `all`. Otherwise as tensor_parallel_gather. */
void tensor_parallel_scatter(TensorParallel *tp, Device *dev, Tensor own, Tensor all, const int64_t *starts);
