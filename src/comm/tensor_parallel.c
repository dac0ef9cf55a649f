#include "comm/tensor_parallel.h"

#include "base/check.h"

/* Sums x over a group of `size` ranks of which this is number `rank`; ranks NULL means that nothing is sent. */
static void sum_over(TensorParallel *tp, Comm *ranks, int size, int rank, Device *dev, Tensor x)
{
    const Tensor all = tensor_flat(x);
    CHECK(x.rank == 1 || x.ld == x.d[1], "a sum of (%lld, %lld) with rows %lld apart", (long long)x.d[0],
          (long long)x.d[1], (long long)x.ld);
    tp->sent_bytes += comm_all_reduce_sends(all.d[0], size, rank) * (int64_t)dtype_bytes(x.dtype);
    if (ranks && dev->computes)
        comm_wait(ranks, comm_all_reduce(ranks, all));
}

void tensor_parallel_sum(TensorParallel *tp, Device *dev, Tensor x)
{
    if (tensor_parallel_size(tp) > 1)
        sum_over(tp, tp->ranks, tp->size, tp->rank, dev, x);
}

void tensor_parallel_sum_copies(TensorParallel *tp, Device *dev, Tensor x)
{
    int n = tensor_parallel_copies(tp);
    if (n > 1)
        sum_over(tp, tp->ranks ? tp->copies : NULL, n, tp->rank % n, dev, x);
}

void tensor_parallel_gather(TensorParallel *tp, Device *dev, Tensor all, Tensor own, const int64_t *starts)
{
    tp->sent_bytes += own.d[0] * (tp->size - 1) * (int64_t)dtype_bytes(own.dtype);
    if (tp->ranks && dev->computes)
        comm_wait(tp->ranks, comm_all_gather(tp->ranks, all, own, starts));
}

void tensor_parallel_scatter(TensorParallel *tp, Device *dev, Tensor own, Tensor all, const int64_t *starts)
{
    tp->sent_bytes += (all.d[0] - own.d[0]) * (int64_t)dtype_bytes(own.dtype);
    if (tp->ranks && dev->computes)
        comm_wait(tp->ranks, comm_reduce_scatter(tp->ranks, own, all, starts));
}
